#include "qw/ops/wasserstein.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/wasserstein_checks.h"

namespace qw {
namespace ops {

void check_wasserstein1_partial(const at::Tensor& values, const at::Tensor& targets,
                                const TransportTensors& problem) {
  constexpr const char* kOp = "qw::wasserstein1_partial";
  check_index(kOp, "labelled", problem.labelled, at::kInt, values);
  check_index(kOp, "heads", problem.heads, at::kInt, values);
  check_index(kOp, "tails", problem.tails, at::kInt, values);
  const int64_t edges = problem.heads.size(0);
  TORCH_CHECK(problem.tails.size(0) == edges, kOp, ": heads has ", edges, " edges but tails has ",
              problem.tails.size(0));
  check_matrix(kOp, "values", values, problem.labelled.size(0), "labelled node");
  TORCH_CHECK(targets.sizes() == values.sizes() && targets.scalar_type() == values.scalar_type() &&
                  targets.device() == values.device(),
              kOp, ": targets must be ", values.sizes(), " of ", values.scalar_type(), " on ",
              values.device(), ", got ", targets.sizes(), " of ", targets.scalar_type(), " on ",
              targets.device());
  const at::Tensor& costs = problem.costs;
  TORCH_CHECK(costs.dim() == 1 && (costs.size(0) == 0 || costs.size(0) == edges) &&
                  (costs.scalar_type() == at::kFloat || costs.scalar_type() == at::kDouble) &&
                  costs.device() == values.device(),
              kOp, ": costs must be [", edges, "] or [0] of float32 or float64 on ", values.device(),
              ", got ", costs.sizes(), " of ", costs.scalar_type(), " on ", costs.device());
  TORCH_CHECK(problem.slack > 0, kOp, ": slack must be positive, infinite for none, got ", problem.slack);
}

}  // namespace ops

std::tuple<at::Tensor, at::Tensor> wasserstein1_partial(const at::Tensor& values, const at::Tensor& targets,
                                                        const TransportTensors& problem) {
  using at::Tensor;
  using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                               const Tensor&, const Tensor&, int64_t, bool, double);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::wasserstein1_partial", "").typed<Signature>();
  return op.call(values, targets, problem.labelled, problem.heads, problem.tails, problem.costs,
                 problem.num_nodes, problem.directed, problem.slack);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "wasserstein1_partial(Tensor values, Tensor targets, Tensor labelled, Tensor heads, Tensor tails, "
      "Tensor costs, int num_nodes, bool directed, float slack) -> (Tensor distance, Tensor potential)");
}
