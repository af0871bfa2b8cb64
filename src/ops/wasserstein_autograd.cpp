#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "qw/ops/wasserstein.h"

namespace qw::ops {
namespace {

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
    const at::Tensor& tails, const at::Tensor& costs, int64_t num_nodes, bool directed, double slack) {
  TORCH_CHECK(!(at::GradMode::is_enabled() && costs.requires_grad()),
              "qw::wasserstein1_partial: costs must not require a gradient, there is none; detach them");
  const variable_list results = Wasserstein1Partial::apply(
      values, targets, TransportTensors{labelled, heads, tails, costs, num_nodes, directed, slack});
  return {results[0], results[1]};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("wasserstein1_partial", wasserstein1_partial_autograd);
}

}  // namespace qw::ops
