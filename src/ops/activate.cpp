#include "qw/ops/activate.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <string>

#include "kernels/activate.h"
#include "ops/activate_parts.h"
#include "ops/backend.h"
#include "ops/dropout_parts.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

void check_activate(const Tensor& x, const Tensor& bias, const ActivateRule& rule) {
  constexpr const char* kOp = "qw::activate";
  TORCH_CHECK(x.dim() == 2, kOp, ": x must be [N, C], got ", x.sizes());
  check_dropout(x, rule.p, rule.key);
  TORCH_CHECK(bias.dim() == 1 && (bias.size(0) == x.size(1) || bias.size(0) == 0) &&
                  bias.scalar_type() == x.scalar_type() && bias.device() == x.device(),
              kOp, ": bias must be [", x.size(1), "] or [0] of ", x.scalar_type(), " on ", x.device(),
              ", got ", bias.sizes(), " of ", bias.scalar_type(), " on ", bias.device());
}

constexpr std::array<const char*, 3> kActivations{"none", "relu", "elu"};  // as Activation

ActivateRule rule_of(const std::string& activation, double p, int64_t seed, int64_t epoch, int64_t layer) {
  return {choice("qw::activate", "activation", activation, kActivations), p, {seed, epoch, layer}};
}

std::string name_of(const ActivateRule& rule) { return choice_name(kActivations, rule.activation); }

kernels::DropoutRule dropout_rule(const ActivateRule& rule) {
  return {rule.p, static_cast<uint64_t>(rule.key.seed), static_cast<uint32_t>(rule.key.epoch),
          static_cast<uint32_t>(rule.key.layer)};
}

Tensor activate_backend(const Tensor& x, const OptionalTensor& optional_bias, std::string activation,
                        double p, int64_t seed, int64_t epoch, int64_t layer) {
  const ActivateRule rule = rule_of(activation, p, seed, epoch, layer);
  const Tensor bias = or_empty(optional_bias, x.options());
  check_activate(x, bias, rule);
  const Tensor rows = x.contiguous();
  const Tensor shift = bias.contiguous();
  Tensor result = at::empty(rows.sizes(), rows.options());
  record_work(3 * rows.numel(), rows, shift, result);
  const auto kind = static_cast<kernels::Activate>(rule.activation);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::activate", [&] {
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const scalar_t* added = data_or_null<scalar_t>(shift);
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows,
        [&] { kernels::activate_cpu(kind, dropout_rule(rule), from, added, rows.size(0), rows.size(1), to); },
        [&](auto stream) {
          kernels::activate_cuda(kind, dropout_rule(rule), draw_number(epoch), from, added, rows.size(0),
                                 rows.size(1), to, stream);
        });
  });
  return result;
}

std::tuple<Tensor, Tensor> activate_backward_backend(const Tensor& result, const Tensor& gradient,
                                                     bool bias_needs_gradient, std::string activation,
                                                     double p, int64_t seed, int64_t epoch, int64_t layer) {
  const ActivateRule rule = rule_of(activation, p, seed, epoch, layer);
  const Tensor incoming = gradient.contiguous();
  check_activate(result, at::empty({0}, result.options()), rule);
  TORCH_CHECK(incoming.sizes() == result.sizes() && incoming.scalar_type() == result.scalar_type() &&
                  incoming.device() == result.device(),
              "qw::_activate_backward: gradient must be ", result.sizes(), " of ", result.scalar_type(),
              " on ", result.device(), ", got ", incoming.sizes(), " of ", incoming.scalar_type(), " on ",
              incoming.device());
  const bool only_adds = rule.only_adds();
  Tensor x_gradient = only_adds ? at::empty({0}, result.options()) : at::empty_like(incoming);
  Tensor bias_gradient = at::empty({bias_needs_gradient ? result.size(1) : 0}, result.options());
  record_work(3 * incoming.numel(), incoming, only_adds ? Tensor() : result, x_gradient, bias_gradient);
  if (only_adds && !bias_needs_gradient) return {x_gradient, bias_gradient};
  const Tensor values = result.contiguous();
  const auto kind = static_cast<kernels::Activate>(rule.activation);
  const int64_t rows = values.size(0), width = values.size(1);
  AT_DISPATCH_FLOATING_TYPES(result.scalar_type(), "qw::_activate_backward", [&] {
    const scalar_t* of = values.data_ptr<scalar_t>();
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    run_on(
        values,
        [&] {
          kernels::activate_backward_cpu(kind, dropout_rule(rule), of, from, rows, width,
                                         only_adds ? nullptr : x_gradient.data_ptr<scalar_t>(),
                                         bias_needs_gradient ? bias_gradient.data_ptr<scalar_t>() : nullptr);
        },
        [&](auto stream) {
          const int64_t sums = kernels::activate_backward_sums(kind, rows, width);
          const Tensor scratch = at::empty({bias_needs_gradient ? sums * width : 0}, result.options());
          kernels::activate_backward_cuda(kind, dropout_rule(rule), draw_number(epoch), of, from, rows, width,
                                          data_or_null<scalar_t>(x_gradient),
                                          data_or_null<scalar_t>(bias_gradient),
                                          data_or_null<scalar_t>(scratch), stream);
        });
  });
  return {x_gradient, bias_gradient};
}

Tensor activate_meta(const Tensor& x, const OptionalTensor& bias, std::string activation, double p,
                     int64_t seed, int64_t epoch, int64_t layer) {
  if (have_numbers(x, bias)) {
    check_activate(x, or_empty(bias, x.options()), rule_of(activation, p, seed, epoch, layer));
  }
  return at::empty_symint(x.sym_sizes(), x.options());
}

std::tuple<Tensor, Tensor> activate_backward_meta(const Tensor& result, const Tensor& gradient,
                                                  bool bias_needs_gradient, std::string activation, double p,
                                                  int64_t seed, int64_t epoch, int64_t layer) {
  const bool only_adds = rule_of(activation, p, seed, epoch, layer).only_adds();
  return {
      only_adds ? at::empty({0}, result.options()) : at::empty_symint(gradient.sym_sizes(), result.options()),
      bias_needs_gradient ? at::empty_symint({result.sym_size(1)}, result.options())
                          : at::empty({0}, result.options())};
}

Tensor activate_operator(const Tensor& x, const Tensor& bias, const ActivateRule& rule) {
  return call<activate_backend>("qw::activate", x, or_none(bias), name_of(rule), rule.p, rule.key.seed,
                                rule.key.epoch, rule.key.layer);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = M x f(X + b) element by element, with a mask M of 0 and 1 / (1 - p):
//   dL/dX = M x f'(X + b) x dL/dY,    dL/db = the sum of its rows.
// f' is read off Y: for relu it is 1 where Y > 0; for elu it is 1 where Y > 0 and (1 - p) Y + 1 elsewhere.
class Activated : public torch::autograd::Function<Activated> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const OptionalTensor& optional_bias,
                        const ActivateRule& rule) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor bias = optional_bias.value_or(Tensor());
    Tensor result = activate_operator(x, bias, rule);
    context->saved_data["bias_needs_gradient"] = bias.defined() && bias.requires_grad() && !is_nothing(bias);
    context->saved_data["has_bias"] = bias.defined();
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
    return {rule.only_adds() ? gradients[0] : for_x,
            context->saved_data["has_bias"].toBool() ? for_bias : Tensor(), Tensor()};
  }
};

Tensor activate_autograd(const Tensor& x, const OptionalTensor& bias, std::string activation, double p,
                         int64_t seed, int64_t epoch, int64_t layer) {
  return Activated::apply(x, bias, rule_of(activation, p, seed, epoch, layer));
}

}  // namespace

std::tuple<Tensor, Tensor> activate_backward(const Tensor& result, const Tensor& gradient,
                                             bool bias_needs_gradient, const ActivateRule& rule) {
  return call_without_gradient<activate_backward_backend>("qw::_activate_backward", result, gradient,
                                                          bias_needs_gradient, name_of(rule), rule.p,
                                                          rule.key.seed, rule.key.epoch, rule.key.layer);
}

QW_BACKENDS(library) {
  library.impl("activate", activate_backend);
  library.impl("_activate_backward", activate_backward_backend);
}

QW_META(library) {
  library.impl("activate", activate_meta);
  library.impl("_activate_backward", activate_backward_meta);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("activate", activate_autograd); }

QW_NO_GRADIENT("_activate_backward")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "activate(Tensor x, Tensor? bias=None, str activation='none', float p=0.0, int seed=0, int epoch=0, "
      "int layer=0) -> Tensor");
  library.def(
      "_activate_backward(Tensor result, Tensor gradient, bool bias_needs_gradient, str activation, float p, "
      "int seed, int epoch, int layer) -> (Tensor, Tensor)");
}

}  // namespace ops

at::Tensor activate(const at::Tensor& x, const at::Tensor& bias, Activation activation, double p,
                    const DropoutKey& key) {
  if (key.rows.defined()) return dropout(activate(x, bias, activation), p, key);
  return ops::activate_operator(x, bias, {static_cast<int64_t>(activation), p, key});
}

at::Tensor add_bias(const at::Tensor& x, const at::Tensor& bias) {
  return activate(x, bias, Activation::kNone);
}

}  // namespace qw
