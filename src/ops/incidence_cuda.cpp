#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/incidence.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/incidence_checks.h"

namespace qw::ops {
namespace {

void incidence_into_cuda(const at::Tensor& result, const at::Tensor& flow, const at::Tensor& heads,
                         const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence_into(result, flow, heads, tails, offsets, arcs);
  const c10::DeviceGuard device(flow.device());
  const at::Tensor rows = flow.contiguous();
  const int64_t width = rows.size(1);
  count(arcs.numel() * width, offsets, arcs, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence", [&] {
    kernels::incidence_cuda(rows.data_ptr<scalar_t>(), width, offsets.data_ptr<int64_t>(),
                            arcs.data_ptr<int64_t>(), offsets.size(0) - 1, heads.size(0),
                            result.data_ptr<scalar_t>(), current_stream());
  });
}

at::Tensor incidence_cuda(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                          const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence(flow, heads, tails, offsets, arcs);
  at::Tensor result = at::empty({offsets.size(0) - 1, flow.size(1)}, flow.options());
  incidence_into_cuda(result, flow, heads, tails, offsets, arcs);
  return result;
}

at::Tensor incidence_transpose_cuda(const at::Tensor& potential, const at::Tensor& heads,
                                    const at::Tensor& tails, const at::Tensor& offsets,
                                    const at::Tensor& arcs) {
  check_incidence_transpose(potential, heads, tails, offsets, arcs);
  const c10::DeviceGuard device(potential.device());
  const at::Tensor rows = potential.contiguous();
  const int64_t edges = heads.size(0);
  at::Tensor result = at::empty({edges, rows.size(1)}, rows.options());
  count(edges * rows.size(1), heads, tails, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence_transpose", [&] {
    kernels::incidence_transpose_cuda(rows.data_ptr<scalar_t>(), rows.size(1), heads.data_ptr<int32_t>(),
                                      tails.data_ptr<int32_t>(), edges, result.data_ptr<scalar_t>(),
                                      current_stream());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("incidence", incidence_cuda);
  library.impl("incidence_into_", incidence_into_cuda);
  library.impl("incidence_transpose", incidence_transpose_cuda);
}

}  // namespace qw::ops
