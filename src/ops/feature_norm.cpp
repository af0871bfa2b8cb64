#include "qw/ops/feature_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "kernels/feature_norm.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/feature_norm_parts.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

void check_x(const char* op, const Tensor& x) {
  TORCH_CHECK(x.dim() == 2, op, ": x must be [N, C], got ", x.sizes());
  check_matrix(op, "x", x, x.size(0), "node");
}

void check_like_x(const char* op, const char* name, const Tensor& tensor, at::IntArrayRef shape,
                  at::ScalarType type, const Tensor& x) {
  TORCH_CHECK(tensor.sizes() == shape && tensor.scalar_type() == type && tensor.device() == x.device(), op,
              ": ", name, " must be ", shape, " of ", type, " on ", x.device(), ", got ", tensor.sizes(),
              " of ", tensor.scalar_type(), " on ", tensor.device());
}

void check_by_column(const char* op, const char* name, const Tensor& tensor, const Tensor& x) {
  check_like_x(op, name, tensor, {x.size(1)}, x.scalar_type(), x);
}

void check_eps(const char* op, double eps) {
  TORCH_CHECK(eps > 0.0 && std::isfinite(eps), op, ": eps must be positive and finite, got ", eps);
}

void check_batch_norm(const BatchNormInputs& inputs) {
  constexpr const char* kOp = "qw::batch_norm";
  check_x(kOp, inputs.x);
  check_by_column(kOp, "weight", inputs.weight, inputs.x);
  check_by_column(kOp, "bias", inputs.bias, inputs.x);
  check_by_column(kOp, "running_mean", inputs.running_mean, inputs.x);
  check_by_column(kOp, "running_var", inputs.running_var, inputs.x);
  TORCH_CHECK(inputs.running_mean.is_contiguous(), kOp, ": running_mean must be contiguous");
  TORCH_CHECK(inputs.running_var.is_contiguous(), kOp, ": running_var must be contiguous");
  TORCH_CHECK(inputs.momentum >= 0.0 && inputs.momentum <= 1.0, kOp, ": momentum must be in [0, 1], got ",
              inputs.momentum);
  check_eps(kOp, inputs.eps);
  TORCH_CHECK(!inputs.training || inputs.x.size(0) >= 2, kOp,
              ": training needs at least 2 rows to take a variance of, got ", inputs.x.size(0));
}

void check_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  constexpr const char* kOp = "qw::layer_norm";
  check_x(kOp, x);
  check_by_column(kOp, "weight", weight, x);
  check_by_column(kOp, "bias", bias, x);
  check_eps(kOp, eps);
}

// `normed` is how many means there are.
void check_norm_backward(const char* op, const Tensor& x, const Tensor& weight, const Tensor& statistics,
                         const Tensor& gradient, int64_t normed) {
  check_by_column(op, "weight", weight, x);
  check_like_x(op, "statistics", statistics, {2, normed}, at::kDouble, x);
  check_like_x(op, "gradient", gradient, x.sizes(), x.scalar_type(), x);
}

// Written through a pointer, which autograd does not see: without this, a backward pass would use changed
// values in silence.
void mark_changed(const Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

// All contiguous; `statistics` [2, normed].
template <class T>
kernels::Normed<T> normed_of(const Tensor& x, const Tensor& weight, const Tensor& statistics) {
  const double* mean = statistics.data_ptr<double>();
  return {x.data_ptr<T>(), x.size(0), x.size(1), weight.data_ptr<T>(), mean, mean + statistics.size(1)};
}

Tensor doubles(at::IntArrayRef shape, const Tensor& rows) {
  return at::empty(shape, rows.options().dtype(at::kDouble));
}

// The result, and what the backward pass needs: [2, C] in float64, mean and 1 / sqrt(variance + eps).
std::tuple<Tensor, Tensor> batch_norm_forward_backend(const Tensor& x, const Tensor& weight,
                                                      const Tensor& bias, const Tensor& running_mean,
                                                      const Tensor& running_var, bool training,
                                                      double momentum, double eps) {
  check_batch_norm({x, weight, bias, running_mean, running_var, training, momentum, eps});
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), shifts = bias.contiguous();
  const int64_t width = rows.size(1);
  Tensor result = at::empty(rows.sizes(), rows.options());
  record_work(6 * rows.numel(), rows, rows, result);
  Tensor statistics = doubles({2, width}, rows);
  double* mean = statistics.data_ptr<double>();
  double* inverse = mean + width;
  if (training) {
    mark_changed(running_mean);
    mark_changed(running_var);
  }
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::batch_norm", [&] {
    const kernels::RunningMoments<scalar_t> running{running_mean.data_ptr<scalar_t>(),
                                                    running_var.data_ptr<scalar_t>()};
    const auto normed = normed_of<scalar_t>(rows, scales, statistics);
    const scalar_t* shift = shifts.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows,
        [&] {
          if (training) {
            kernels::batch_statistics_cpu(normed.x, rows.size(0), width, momentum, eps, running, mean,
                                          inverse);
          } else {
            kernels::running_statistics_cpu(width, eps, running, mean, inverse);
          }
          kernels::batch_norm_cpu(normed, shift, to);
        },
        [&](auto stream) {
          if (training) {
            const Tensor sums = doubles({kernels::norm_sums_size(rows.size(0), width)}, rows);
            kernels::batch_norm_training_cuda(normed, momentum, eps, running, shift, to, mean, inverse,
                                              sums.data_ptr<double>(), stream);
          } else {
            kernels::batch_norm_given_cuda(normed, eps, running, shift, to, mean, inverse, stream);
          }
        });
  });
  return {result, statistics};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward_backend(const Tensor& x, const Tensor& weight,
                                                               const Tensor& statistics,
                                                               const Tensor& gradient, bool training) {
  check_x("qw::_batch_norm_backward", x);
  check_norm_backward("qw::_batch_norm_backward", x, weight, statistics, gradient, x.size(1));
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), incoming = gradient.contiguous();
  const Tensor moments = statistics.contiguous();
  Tensor for_x = at::empty(rows.sizes(), rows.options());
  record_work(12 * rows.numel(), rows, rows, for_x, for_x);
  Tensor for_weight = at::empty({rows.size(1)}, rows.options());
  Tensor for_bias = at::empty({rows.size(1)}, rows.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::_batch_norm_backward", [&] {
    const auto normed = normed_of<scalar_t>(rows, scales, moments);
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    scalar_t* to_x = for_x.data_ptr<scalar_t>();
    scalar_t* to_weight = for_weight.data_ptr<scalar_t>();
    scalar_t* to_bias = for_bias.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::batch_norm_backward_cpu(normed, training, from, to_x, to_weight, to_bias); },
        [&](auto stream) {
          const Tensor sums = doubles({kernels::norm_sums_size(rows.size(0), rows.size(1))}, rows);
          kernels::batch_norm_backward_cuda(normed, training, from, to_x, to_weight, to_bias,
                                            sums.data_ptr<double>(), stream);
        });
  });
  return {for_x, for_weight, for_bias};
}

// As batch_norm_forward, with statistics [2, N].
std::tuple<Tensor, Tensor> layer_norm_forward_backend(const Tensor& x, const Tensor& weight,
                                                      const Tensor& bias, double eps) {
  check_layer_norm(x, weight, bias, eps);
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), shifts = bias.contiguous();
  Tensor result = at::empty(rows.sizes(), rows.options());
  record_work(6 * rows.numel(), rows, rows, result);
  Tensor statistics = doubles({2, rows.size(0)}, rows);
  double* mean = statistics.data_ptr<double>();
  double* inverse = mean + rows.size(0);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::layer_norm", [&] {
    const auto normed = normed_of<scalar_t>(rows, scales, statistics);
    const scalar_t* shift = shifts.data_ptr<scalar_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::layer_norm_cpu(normed, eps, shift, to, mean, inverse); },
        [&](auto stream) { kernels::layer_norm_cuda(normed, eps, shift, to, mean, inverse, stream); });
  });
  return {result, statistics};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward_backend(const Tensor& x, const Tensor& weight,
                                                               const Tensor& statistics,
                                                               const Tensor& gradient) {
  check_x("qw::_layer_norm_backward", x);
  check_norm_backward("qw::_layer_norm_backward", x, weight, statistics, gradient, x.size(0));
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), incoming = gradient.contiguous();
  const Tensor moments = statistics.contiguous();
  Tensor for_x = at::empty(rows.sizes(), rows.options());
  record_work(12 * rows.numel(), rows, rows, for_x, for_x);
  Tensor for_weight = at::empty({rows.size(1)}, rows.options());
  Tensor for_bias = at::empty({rows.size(1)}, rows.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::_layer_norm_backward", [&] {
    const auto normed = normed_of<scalar_t>(rows, scales, moments);
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    scalar_t* to_x = for_x.data_ptr<scalar_t>();
    scalar_t* to_weight = for_weight.data_ptr<scalar_t>();
    scalar_t* to_bias = for_bias.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::layer_norm_backward_cpu(normed, from, to_x, to_weight, to_bias); },
        [&](auto stream) {
          const Tensor sums = doubles({kernels::norm_sums_size(rows.size(0), rows.size(1))}, rows);
          kernels::layer_norm_backward_cuda(normed, from, to_x, to_weight, to_bias, sums.data_ptr<double>(),
                                            stream);
        });
  });
  return {for_x, for_weight, for_bias};
}

std::tuple<Tensor, Tensor> batch_norm_forward_meta(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                   const Tensor& running_mean, const Tensor& running_var,
                                                   bool training, double momentum, double eps) {
  if (have_numbers(x, weight, bias, running_mean, running_var)) {
    check_batch_norm({x, weight, bias, running_mean, running_var, training, momentum, eps});
  }
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint({2, x.sym_size(1)}, x.options().dtype(at::kDouble))};
}

std::tuple<Tensor, Tensor> layer_norm_forward_meta(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                   double eps) {
  if (have_numbers(x, weight, bias)) check_layer_norm(x, weight, bias, eps);
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint({2, x.sym_size(0)}, x.options().dtype(at::kDouble))};
}

std::tuple<Tensor, Tensor, Tensor> norm_gradients_meta(const Tensor& x) {
  return {at::empty_symint(x.sym_sizes(), x.options()), at::empty_symint({x.sym_size(1)}, x.options()),
          at::empty_symint({x.sym_size(1)}, x.options())};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward_meta(const Tensor& x, const Tensor&, const Tensor&,
                                                            const Tensor&, bool) {
  return norm_gradients_meta(x);
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward_meta(const Tensor& x, const Tensor&, const Tensor&,
                                                            const Tensor&) {
  return norm_gradients_meta(x);
}

std::tuple<Tensor, Tensor> batch_norm_forward(const BatchNormInputs& inputs) {
  return call_without_gradient<batch_norm_forward_backend>(
      "qw::_batch_norm_forward", inputs.x, inputs.weight, inputs.bias, inputs.running_mean,
      inputs.running_var, inputs.training, inputs.momentum, inputs.eps);
}

std::tuple<Tensor, Tensor> layer_norm_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                              double eps) {
  return call_without_gradient<layer_norm_forward_backend>("qw::_layer_norm_forward", x, weight, bias, eps);
}

Tensor batch_norm_backend(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const Tensor& running_mean, const Tensor& running_var, bool training,
                          double momentum, double eps) {
  return std::get<0>(
      batch_norm_forward({x, weight, bias, running_mean, running_var, training, momentum, eps}));
}

Tensor layer_norm_backend(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return std::get<0>(layer_norm_forward(x, weight, bias, eps));
}

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

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient,
                                                       bool training) {
  return call_without_gradient<batch_norm_backward_backend>("qw::_batch_norm_backward", x, weight, statistics,
                                                            gradient, training);
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient) {
  return call_without_gradient<layer_norm_backward_backend>("qw::_layer_norm_backward", x, weight, statistics,
                                                            gradient);
}

QW_BACKENDS(library) {
  library.impl("_batch_norm_forward", batch_norm_forward_backend);
  library.impl("_batch_norm_backward", batch_norm_backward_backend);
  library.impl("_layer_norm_forward", layer_norm_forward_backend);
  library.impl("_layer_norm_backward", layer_norm_backward_backend);
}

QW_META(library) {
  library.impl("_batch_norm_forward", batch_norm_forward_meta);
  library.impl("_batch_norm_backward", batch_norm_backward_meta);
  library.impl("_layer_norm_forward", layer_norm_forward_meta);
  library.impl("_layer_norm_backward", layer_norm_backward_meta);
}

QW_NO_GRADIENT("_batch_norm_forward", "_batch_norm_backward", "_layer_norm_forward", "_layer_norm_backward")

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("batch_norm", batch_norm_backend);
  library.impl("layer_norm", layer_norm_backend);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("batch_norm", batch_norm_autograd);
  library.impl("layer_norm", layer_norm_autograd);
}

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "batch_norm(Tensor x, Tensor weight, Tensor bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
      "bool training=False, float momentum=0.1, float eps=1e-5) -> Tensor");
  library.def(
      "_batch_norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor(a!) running_mean, "
      "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor)");
  library.def(
      "_batch_norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor gradient, bool training) -> "
      "(Tensor, Tensor, Tensor)");
  library.def("layer_norm(Tensor x, Tensor weight, Tensor bias, float eps=1e-5) -> Tensor");
  library.def("_layer_norm_forward(Tensor x, Tensor weight, Tensor bias, float eps) -> (Tensor, Tensor)");
  library.def(
      "_layer_norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor gradient) -> "
      "(Tensor, Tensor, Tensor)");
}

}  // namespace ops

at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
                      double momentum, double eps) {
  return ops::call<ops::batch_norm_backend>("qw::batch_norm", x, weight, bias, running_mean, running_var,
                                            training, momentum, eps);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  return ops::call<ops::layer_norm_backend>("qw::layer_norm", x, weight, bias, eps);
}

}  // namespace qw
