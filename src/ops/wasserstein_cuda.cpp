#include <torch/library.h>

#include "ops/cuda_glue.h"
#include "ops/wasserstein_checks.h"
#include "ops/wasserstein_solve.h"

namespace qw::ops {
namespace {

using at::Tensor;

// Network simplex and its like have no use for a GPU: the host solves, and the device waits.
std::tuple<Tensor, Tensor> wasserstein1_partial_cuda(const Tensor& values, const Tensor& targets,
                                                     const Tensor& labelled, const Tensor& heads,
                                                     const Tensor& tails, const Tensor& costs,
                                                     int64_t num_nodes, bool directed, double slack) {
  check_wasserstein1_partial(values, targets, {labelled, heads, tails, costs, num_nodes, directed, slack});
  const c10::DeviceGuard device(values.device());
  const auto [distance, potential] = solve_wasserstein1_partial(
      values.cpu(), targets.cpu(),
      {labelled.cpu(), heads.cpu(), tails.cpu(), costs.cpu(), num_nodes, directed, slack});
  return {distance.to(values.device()), potential.to(values.device())};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("wasserstein1_partial", wasserstein1_partial_cuda);
}

}  // namespace qw::ops
