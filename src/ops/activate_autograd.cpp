#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/activate_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = M x f(X + b) element by element, with a mask M of 0 and 1 / (1 - p):
//   dL/dX = M x f'(X + b) x dL/dY,    dL/db = the sum of its rows.
// f' is read off Y: for relu it is 1 where Y > 0; for elu it is 1 where Y > 0 and (1 - p) Y + 1 elsewhere.
class Activated : public torch::autograd::Function<Activated> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& bias,
                            const ActivateRule& rule) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    at::Tensor result = activate_operator(x, bias, rule);
    context->saved_data["bias_needs_gradient"] = bias.requires_grad() && bias.numel() != 0;
    context->saved_data["activation"] = rule.activation;
    context->saved_data["p"] = rule.p;
    context->saved_data["seed"] = rule.key.seed;
    context->saved_data["epoch"] = rule.key.epoch;
    context->saved_data["layer"] = rule.key.layer;
    context->save_for_backward({result});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::activate: there is no second derivative; call backward without create_graph");
    const ActivateRule rule{context->saved_data["activation"].toInt(),
                            context->saved_data["p"].toDouble(),
                            {context->saved_data["seed"].toInt(), context->saved_data["epoch"].toInt(),
                             context->saved_data["layer"].toInt()}};
    const auto [for_x, for_bias] =
        activate_backward(context->get_saved_variables()[0], gradients[0],
                          context->saved_data["bias_needs_gradient"].toBool(), rule);
    return {rule.only_adds() ? gradients[0] : for_x, for_bias, at::Tensor()};
  }
};

at::Tensor activate_autograd(const at::Tensor& x, const at::Tensor& bias, int64_t activation, double p,
                             int64_t seed, int64_t epoch, int64_t layer) {
  return Activated::apply(x, bias, ActivateRule{activation, p, {seed, epoch, layer}});
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("activate", activate_autograd); }

}  // namespace qw::ops
