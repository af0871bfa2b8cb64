#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/edge_values.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/edge_values_parts.h"

namespace qw::ops {
namespace {

at::Tensor edge_values_cuda(const at::Tensor& weights, const at::Tensor& edges,
                            const at::Tensor& entries_of) {
  check_edge_values(weights, {edges, entries_of});
  const c10::DeviceGuard device(weights.device());
  const at::Tensor given = weights.contiguous();
  at::Tensor result = at::empty({edges.size(0)}, given.options());
  count(0, given, edges, result);
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "qw::edge_values", [&] {
    kernels::edge_values_cuda(given.data_ptr<scalar_t>(), edges.data_ptr<int64_t>(), edges.size(0),
                              result.data_ptr<scalar_t>(), current_stream());
  });
  return result;
}

at::Tensor edge_values_backward_cuda(const at::Tensor& gradient, const at::Tensor& entries_of) {
  check_edge_values_backward(gradient, entries_of);
  const c10::DeviceGuard device(gradient.device());
  const at::Tensor incoming = gradient.contiguous();
  at::Tensor result = at::empty({entries_of.size(0)}, incoming.options());
  count(entries_of.size(0), incoming, entries_of, result);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::edge_values_backward", [&] {
    kernels::edge_values_backward_cuda(incoming.data_ptr<scalar_t>(), entries_of.data_ptr<int64_t>(),
                                       entries_of.size(0), result.data_ptr<scalar_t>(), current_stream());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("edge_values", edge_values_cuda);
  library.impl("edge_values_backward", edge_values_backward_cuda);
}

}  // namespace qw::ops
