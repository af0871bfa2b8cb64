#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/dense_linear_parts.h"
#include "qw/ops/dense_linear.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = X W^T:  dL/dX = G W,  dL/dW = (X^T G)^T, with G = dL/dY. The transposed form leaves the gradient of W
// in the memory order of a weight whose transpose is row-major, as ParameterSet keeps them.
class DenseLinear : public torch::autograd::Function<DenseLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["x_needs_gradient"] = x.requires_grad();
    context->saved_data["weight_needs_gradient"] = weight.requires_grad();
    context->save_for_backward(
        {weight.requires_grad() ? x : at::Tensor(), x.requires_grad() ? weight : at::Tensor()});
    return dense_linear(x, weight);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::dense_linear: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    at::Tensor x_gradient, weight_gradient;
    if (context->saved_data["x_needs_gradient"].toBool()) {
      x_gradient = blocked_product(gradients[0], saved[1]);
    }
    if (context->saved_data["weight_needs_gradient"].toBool()) {
      weight_gradient = blocked_transposed_product(saved[0], gradients[0]).t();
    }
    return {x_gradient, weight_gradient};
  }
};

at::Tensor dense_linear_autograd(const at::Tensor& x, const at::Tensor& weight) {
  return DenseLinear::apply(x, weight);
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("dense_linear", dense_linear_autograd); }

}  // namespace qw::ops
