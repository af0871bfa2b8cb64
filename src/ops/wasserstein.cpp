#include "qw/ops/wasserstein.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/wasserstein_solve.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

constexpr double kNoSlack = std::numeric_limits<double>::infinity();

// Shapes, types and devices; ids and costs are checked where the graph is built.
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

// Network simplex and its like have no use for a GPU: the host solves, and the device waits.
std::tuple<Tensor, Tensor> wasserstein1_partial_backend(const Tensor& values, const Tensor& targets,
                                                        const Tensor& labelled, const Tensor& heads,
                                                        const Tensor& tails, int64_t num_nodes,
                                                        const OptionalTensor& optional_costs, bool directed,
                                                        c10::optional<double> optional_slack) {
  const double slack = optional_slack.value_or(kNoSlack);
  const Tensor costs = or_empty(optional_costs, values.options());
  check_wasserstein1_partial(values, targets, {labelled, heads, tails, costs, num_nodes, directed, slack});
  const auto [distance, potential] = solve_wasserstein1_partial(
      values.cpu(), targets.cpu(),
      {labelled.cpu(), heads.cpu(), tails.cpu(), costs.cpu(), num_nodes, directed, slack});
  return {distance.to(values.device()), potential.to(values.device())};
}

std::tuple<Tensor, Tensor> wasserstein1_partial_meta(const Tensor& values, const Tensor& targets,
                                                     const Tensor& labelled, const Tensor& heads,
                                                     const Tensor& tails, int64_t num_nodes,
                                                     const OptionalTensor& costs, bool directed,
                                                     c10::optional<double> slack) {
  if (have_numbers(values, targets, labelled, heads, tails, costs)) {
    check_wasserstein1_partial(values, targets,
                               {labelled, heads, tails, or_empty(costs, values.options()), num_nodes,
                                directed, slack.value_or(kNoSlack)});
  }
  return {at::empty_symint({values.sym_size(1)}, values.options()),
          at::empty_symint(values.sym_sizes(), values.options())};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// W = max_p <p, targets - values> over potentials that the graph allows, so that dW/dvalues = -p and
// dW/dtargets = p at the optimal p (Danskin). p is piecewise constant: the backward pass, linear in the
// incoming gradient, is differentiable again as it stands.
class Wasserstein1Partial : public torch::autograd::Function<Wasserstein1Partial> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& targets,
                               const TransportTensors& problem) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [distance, potential] = wasserstein1_partial(values, targets, problem);
    context->mark_non_differentiable({potential});
    context->save_for_backward({potential});
    return {distance, potential};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor targets_gradient = context->get_saved_variables()[0] * gradients[0];
    return {-targets_gradient, targets_gradient, at::Tensor()};
  }
};

std::tuple<at::Tensor, at::Tensor> wasserstein1_partial_autograd(
    const at::Tensor& values, const at::Tensor& targets, const at::Tensor& labelled, const at::Tensor& heads,
    const at::Tensor& tails, int64_t num_nodes, const OptionalTensor& costs, bool directed,
    c10::optional<double> slack) {
  TORCH_CHECK(!(at::GradMode::is_enabled() && needs_gradient(costs)),
              "qw::wasserstein1_partial: costs must not require a gradient, there is none; detach them");
  const variable_list results =
      Wasserstein1Partial::apply(values, targets,
                                 TransportTensors{labelled, heads, tails, costs.value_or(at::Tensor()),
                                                  num_nodes, directed, slack.value_or(kNoSlack)});
  return {results[0], results[1]};
}

}  // namespace

QW_BACKENDS(library) { library.impl("wasserstein1_partial", wasserstein1_partial_backend); }

QW_META(library) { library.impl("wasserstein1_partial", wasserstein1_partial_meta); }

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("wasserstein1_partial", wasserstein1_partial_autograd);
}

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "wasserstein1_partial(Tensor values, Tensor targets, Tensor labelled, Tensor heads, Tensor tails, "
      "int num_nodes, Tensor? costs=None, bool directed=False, float? slack=None) -> "
      "(Tensor distance, Tensor potential)");
}

}  // namespace ops

std::tuple<at::Tensor, at::Tensor> wasserstein1_partial(const at::Tensor& values, const at::Tensor& targets,
                                                        const TransportTensors& problem) {
  return ops::call<ops::wasserstein1_partial_backend>(
      "qw::wasserstein1_partial", values, targets, problem.labelled, problem.heads, problem.tails,
      problem.num_nodes, ops::or_none(problem.costs), problem.directed, c10::optional<double>(problem.slack));
}

}  // namespace qw
