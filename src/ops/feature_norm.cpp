#include "qw/ops/feature_norm.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cmath>

#include "ops/checks.h"
#include "ops/feature_norm_parts.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

using Batch = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double,
                     double);
using BatchForward = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                const Tensor&, bool, double, double);
using BatchBackward = std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                         const Tensor&, bool);
using Layer = Tensor(const Tensor&, const Tensor&, const Tensor&, double);
using LayerForward = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, double);
using LayerBackward = std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                         const Tensor&);

template <class Signature>
c10::TypedOperatorHandle<Signature> operator_of(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

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

}  // namespace

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

void check_norm_backward(const char* op, const Tensor& x, const Tensor& weight, const Tensor& statistics,
                         const Tensor& gradient, int64_t normed) {
  check_x(op, x);
  check_by_column(op, "weight", weight, x);
  check_like_x(op, "statistics", statistics, {2, normed}, at::kDouble, x);
  check_like_x(op, "gradient", gradient, x.sizes(), x.scalar_type(), x);
}

std::tuple<Tensor, Tensor> batch_norm_forward(const BatchNormInputs& inputs) {
  static const auto op = operator_of<BatchForward>("qw::batch_norm_forward");
  return op.call(inputs.x, inputs.weight, inputs.bias, inputs.running_mean, inputs.running_var,
                 inputs.training, inputs.momentum, inputs.eps);
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient,
                                                       bool training) {
  static const auto op = operator_of<BatchBackward>("qw::batch_norm_backward");
  return op.call(x, weight, statistics, gradient, training);
}

std::tuple<Tensor, Tensor> layer_norm_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                              double eps) {
  static const auto op = operator_of<LayerForward>("qw::layer_norm_forward");
  return op.call(x, weight, bias, eps);
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient) {
  static const auto op = operator_of<LayerBackward>("qw::layer_norm_backward");
  return op.call(x, weight, statistics, gradient);
}

namespace {

Tensor batch_norm_without_gradient(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                   const Tensor& running_mean, const Tensor& running_var, bool training,
                                   double momentum, double eps) {
  return std::get<0>(
      batch_norm_forward({x, weight, bias, running_mean, running_var, training, momentum, eps}));
}

Tensor layer_norm_without_gradient(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return std::get<0>(layer_norm_forward(x, weight, bias, eps));
}

}  // namespace
}  // namespace ops

at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
                      double momentum, double eps) {
  static const auto op = ops::operator_of<ops::Batch>("qw::batch_norm");
  return op.call(x, weight, bias, running_mean, running_var, training, momentum, eps);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  static const auto op = ops::operator_of<ops::Layer>("qw::layer_norm");
  return op.call(x, weight, bias, eps);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "batch_norm(Tensor x, Tensor weight, Tensor bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
      "bool training, float momentum=0.1, float eps=1e-5) -> Tensor");
  library.def(
      "batch_norm_forward(Tensor x, Tensor weight, Tensor bias, Tensor(a!) running_mean, "
      "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor)");
  library.def(
      "batch_norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor gradient, bool training) -> "
      "(Tensor, Tensor, Tensor)");
  library.def("layer_norm(Tensor x, Tensor weight, Tensor bias, float eps=1e-5) -> Tensor");
  library.def("layer_norm_forward(Tensor x, Tensor weight, Tensor bias, float eps) -> (Tensor, Tensor)");
  library.def(
      "layer_norm_backward(Tensor x, Tensor weight, Tensor statistics, Tensor gradient) -> "
      "(Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("batch_norm", qw::ops::batch_norm_without_gradient);
  library.impl("layer_norm", qw::ops::layer_norm_without_gradient);
}
