#include <torch/library.h>

#include "ops/wasserstein_checks.h"
#include "ops/wasserstein_solve.h"

namespace qw::ops {
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> wasserstein1_partial_cpu(const Tensor& values, const Tensor& targets,
                                                    const Tensor& labelled, const Tensor& heads,
                                                    const Tensor& tails, const Tensor& costs,
                                                    int64_t num_nodes, bool directed, double slack) {
  const TransportTensors problem{labelled, heads, tails, costs, num_nodes, directed, slack};
  check_wasserstein1_partial(values, targets, problem);
  return solve_wasserstein1_partial(values, targets, problem);
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) { library.impl("wasserstein1_partial", wasserstein1_partial_cpu); }

}  // namespace qw::ops
