#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/edge_values_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// v_k = w_e for entry k of edge e, 1 for an entry without one: dL/dw_e = sum of dL/dv_k over the entries of
// e. The backward pass is not differentiable again.
class EdgeValues : public torch::autograd::Function<EdgeValues> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weights, const EntryEdges& entries) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    // Here as well as in the backend: of tensors on several devices the dispatcher may pick any.
    check_edge_values(weights, entries);
    context->save_for_backward({entries.entries_of});
    return edge_values(weights, entries);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::edge_values: there is no second derivative; call backward without create_graph");
    return {edge_values_backward(gradients[0], context->get_saved_variables()[0]), at::Tensor()};
  }
};

at::Tensor edge_values_autograd(const at::Tensor& weights, const at::Tensor& edges,
                                const at::Tensor& entries_of) {
  return EdgeValues::apply(weights, EntryEdges{edges, entries_of});
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("edge_values", edge_values_autograd); }

}  // namespace qw::ops
