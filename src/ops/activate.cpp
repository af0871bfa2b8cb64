#include "qw/ops/activate.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/activate_parts.h"
#include "ops/checks.h"
#include "ops/dropout_parts.h"

namespace qw {
namespace ops {

using at::Tensor;

void check_activate(const Tensor& x, const Tensor& bias, const ActivateRule& rule) {
  constexpr const char* kOp = "qw::activate";
  TORCH_CHECK(x.dim() == 2, kOp, ": x must be [N, C], got ", x.sizes());
  check_dropout(x, rule.p, rule.key);
  TORCH_CHECK(bias.dim() == 1 && (bias.size(0) == x.size(1) || bias.size(0) == 0) &&
                  bias.scalar_type() == x.scalar_type() && bias.device() == x.device(),
              kOp, ": bias must be [", x.size(1), "] or [0] of ", x.scalar_type(), " on ", x.device(),
              ", got ", bias.sizes(), " of ", bias.scalar_type(), " on ", bias.device());
  TORCH_CHECK(rule.activation >= 0 && rule.activation <= 2, kOp,
              ": activation must be 0 (none), 1 (relu) or 2 (elu), got ", rule.activation);
}

Tensor activate_operator(const Tensor& x, const Tensor& bias, const ActivateRule& rule) {
  using Signature = Tensor(const Tensor&, const Tensor&, int64_t, double, int64_t, int64_t, int64_t);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::activate", "").typed<Signature>();
  return op.call(x, bias, rule.activation, rule.p, rule.key.seed, rule.key.epoch, rule.key.layer);
}

std::tuple<Tensor, Tensor> activate_backward(const Tensor& result, const Tensor& gradient,
                                             bool bias_needs_gradient, const ActivateRule& rule) {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, bool, int64_t, double, int64_t,
                                               int64_t, int64_t);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::activate_backward", "").typed<Signature>();
  return op.call(result, gradient, bias_needs_gradient, rule.activation, rule.p, rule.key.seed,
                 rule.key.epoch, rule.key.layer);
}

}  // namespace ops

at::Tensor activate(const at::Tensor& x, const at::Tensor& bias, Activation activation, double p,
                    const DropoutKey& key) {
  return ops::activate_operator(x, bias, {static_cast<int64_t>(activation), p, key});
}

at::Tensor add_bias(const at::Tensor& x, const at::Tensor& bias) {
  return activate(x, bias, Activation::kNone);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "activate(Tensor x, Tensor bias, int activation, float p, int seed, int epoch, int layer) -> Tensor");
  library.def(
      "activate_backward(Tensor result, Tensor gradient, bool bias_needs_gradient, int activation, float p, "
      "int seed, int epoch, int layer) -> (Tensor, Tensor)");
}
