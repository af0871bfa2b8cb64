#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/feature_norm_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void refuse_second_derivative(const char* op) {
  TORCH_CHECK(!at::GradMode::is_enabled(), op,
              ": there is no second derivative; call backward without create_graph");
}

// In one column, with its mean m and variance v, s = 1 / sqrt(v + eps), h_i = (x_i - m) s, y_i = w h_i + b
// and g_i = dL/dy_i, i over the N rows:
//   dL/db = sum_i g_i,    dL/dw = sum_i g_i h_i,
//   dL/dx_i = w s g_i                                     where m and v are given; where they are those of x,
//   dL/dx_i = w s (g_i - (dL/db + h_i dL/dw) / N),        since dh_i/dx_k = s ([i = k] - (1 + h_i h_k) / N).
class BatchNorm : public torch::autograd::Function<BatchNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& /*bias*/, const BatchNormInputs& inputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [result, statistics] = batch_norm_forward(inputs);
    context->saved_data["training"] = inputs.training;
    context->save_for_backward({x, weight, statistics});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative("qw::batch_norm");
    const variable_list saved = context->get_saved_variables();
    const auto [x, weight, bias] = batch_norm_backward(saved[0], saved[1], saved[2], gradients[0],
                                                       context->saved_data["training"].toBool());
    return {x, weight, bias, at::Tensor()};
  }
};

// The same in one row, with w_c and b_c for its C columns c, where dL/db_c and dL/dw_c are sums over rows of
// g_c and g_c h_c, and with u_c = w_c g_c:
//   dL/dx_c = s (u_c - (sum_k u_k + h_c sum_k u_k h_k) / C).
class LayerNorm : public torch::autograd::Function<LayerNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double eps) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [result, statistics] = layer_norm_forward(x, weight, bias, eps);
    context->save_for_backward({x, weight, statistics});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative("qw::layer_norm");
    const variable_list saved = context->get_saved_variables();
    const auto [x, weight, bias] = layer_norm_backward(saved[0], saved[1], saved[2], gradients[0]);
    return {x, weight, bias, at::Tensor()};
  }
};

// The running ones are no inputs that gradients go to: they travel in the bundle, which autograd does not
// look into.
at::Tensor batch_norm_autograd(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
                               double momentum, double eps) {
  return BatchNorm::apply(
      x, weight, bias, BatchNormInputs{x, weight, bias, running_mean, running_var, training, momentum, eps});
}

at::Tensor layer_norm_autograd(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                               double eps) {
  return LayerNorm::apply(x, weight, bias, eps);
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("batch_norm", batch_norm_autograd);
  library.impl("layer_norm", layer_norm_autograd);
}

}  // namespace qw::ops
