#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/dropout.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/dropout_parts.h"

namespace qw::ops {
namespace {

at::Tensor dropout_cuda(const at::Tensor& values, double p, int64_t seed, int64_t epoch, int64_t layer) {
  check_dropout(values, p, {seed, epoch, layer});
  const c10::DeviceGuard device(values.device());
  const at::Tensor row_major = values.contiguous();
  at::Tensor result = at::empty(row_major.sizes(), row_major.options());
  count(row_major.numel(), row_major, result);
  const kernels::DropoutRule rule{p, static_cast<uint64_t>(seed), static_cast<uint32_t>(epoch),
                                  static_cast<uint32_t>(layer)};
  AT_DISPATCH_FLOATING_TYPES(row_major.scalar_type(), "qw::dropout", [&] {
    kernels::dropout_cuda(rule, draw_count(epoch), row_major.data_ptr<scalar_t>(), row_major.numel(),
                          result.data_ptr<scalar_t>(), current_stream());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) { library.impl("dropout", dropout_cuda); }

}  // namespace qw::ops
