#include "qw/ops/dense_linear.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/dense_linear_parts.h"

namespace qw {
namespace ops {

using at::Tensor;

void check_dense_linear(const Tensor& x, const Tensor& weight) {
  constexpr const char* kOp = "qw::dense_linear";
  TORCH_CHECK(x.dim() == 2, kOp, ": x must be [N, in], got ", x.sizes());
  check_matrix(kOp, "x", x, x.size(0), "node");
  TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(1) && weight.scalar_type() == x.scalar_type() &&
                  weight.device() == x.device(),
              kOp, ": weight must be [out, ", x.size(1), "] of ", x.scalar_type(), " on ", x.device(),
              ", got ", weight.sizes(), " of ", weight.scalar_type(), " on ", weight.device());
}

Tensor blocked_product(const Tensor& left, const Tensor& right) {
  using Signature = Tensor(const Tensor&, const Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::blocked_product", "").typed<Signature>();
  return op.call(left, right);
}

Tensor blocked_transposed_product(const Tensor& left, const Tensor& right) {
  using Signature = Tensor(const Tensor&, const Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::blocked_transposed_product", "").typed<Signature>();
  return op.call(left, right);
}

namespace {

Tensor dense_linear_without_gradient(const Tensor& x, const Tensor& weight) {
  check_dense_linear(x, weight);
  return blocked_product(x, weight.t());
}

}  // namespace
}  // namespace ops

at::Tensor dense_linear(const at::Tensor& x, const at::Tensor& weight) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::dense_linear", "").typed<Signature>();
  return op.call(x, weight);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("dense_linear(Tensor x, Tensor weight) -> Tensor");
  library.def("blocked_product(Tensor left, Tensor right) -> Tensor");
  library.def("blocked_transposed_product(Tensor left, Tensor right) -> Tensor");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("dense_linear", qw::ops::dense_linear_without_gradient);
}
