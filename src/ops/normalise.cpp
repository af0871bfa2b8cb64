#include "qw/ops/normalise.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/normalise_parts.h"

namespace qw {
namespace ops {

using at::Tensor;

namespace {

void check_like(const char* op, const char* name, const Tensor& tensor, int64_t size, const Tensor& values) {
  TORCH_CHECK(tensor.dim() == 1 && tensor.size(0) == size && tensor.scalar_type() == values.scalar_type() &&
                  tensor.device() == values.device(),
              op, ": ", name, " must be [", size, "] of ", values.scalar_type(), " on ", values.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

}  // namespace

Normalisation checked_normalisation(const char* op, int64_t kind) {
  TORCH_CHECK(kind >= 0 && kind <= 2, op, ": kind must be 0 (symmetric), 1 (rows) or 2 (softmax), got ",
              kind);
  return static_cast<Normalisation>(kind);
}

void check_normalise(const char* op, const SparsePattern& pattern, const char* name, const Tensor& values) {
  check_square_pattern(op, pattern, values);
  const int64_t entries = pattern.columns.size(0);
  TORCH_CHECK(pattern.order.size(0) == entries || pattern.order.size(0) == 0, op,
              ": order must have an entry for each of ", entries, " entries, or none, got ",
              pattern.order.size(0));
  TORCH_CHECK(values.dim() == 1 && values.size(0) == entries &&
                  (values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble),
              op, ": ", name, " must be [", entries, "] of float32 or float64, got ", values.sizes(), " of ",
              values.scalar_type());
}

void check_normalise_backward(const SparsePattern& pattern, const Tensor& normalised, const Tensor& scales,
                              const Tensor& gradient, Normalisation kind) {
  constexpr const char* kOp = "qw::normalise_backward";
  check_normalise(kOp, pattern, "normalised", normalised);
  check_like(kOp, "scales", scales, kind == Normalisation::kSoftmax ? 0 : pattern.offsets.size(0) - 1,
             normalised);
  check_like(kOp, "gradient", gradient, pattern.columns.size(0), normalised);
  TORCH_CHECK(kind != Normalisation::kSymmetric || pattern.order.size(0) == pattern.columns.size(0),
              "qw::normalise: the gradient of the symmetric kind needs the pattern's order, which "
              "SparsePattern::symmetric does not have");
}

std::tuple<Tensor, Tensor> normalise_forward(const SparsePattern& pattern, const Tensor& values,
                                             Normalisation kind) {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                               const Tensor&, const Tensor&, int64_t);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::normalise_forward", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, static_cast<int64_t>(kind));
}

Tensor normalise_backward(const SparsePattern& pattern, const Tensor& normalised, const Tensor& scales,
                          const Tensor& gradient, Normalisation kind) {
  using Signature = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, const Tensor&, const Tensor&, int64_t);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::normalise_backward", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, normalised, scales, gradient, static_cast<int64_t>(kind));
}

namespace {

Tensor normalise_without_gradient(const Tensor& offsets, const Tensor& columns,
                                  const Tensor& transposed_offsets, const Tensor& transposed_columns,
                                  const Tensor& order, const Tensor& values, int64_t kind_number) {
  const SparsePattern pattern{offsets, columns, transposed_offsets, transposed_columns, order};
  const Normalisation kind = checked_normalisation("qw::normalise", kind_number);
  check_normalise("qw::normalise", pattern, "values", values);
  return std::get<0>(normalise_forward(pattern, values, kind));
}

}  // namespace
}  // namespace ops

at::Tensor normalise(const SparsePattern& pattern, const at::Tensor& values, Normalisation kind) {
  using at::Tensor;
  using Signature = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, int64_t);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::normalise", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, static_cast<int64_t>(kind));
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "normalise(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor transposed_columns, "
      "Tensor order, Tensor values, int kind) -> Tensor");
  library.def(
      "normalise_forward(Tensor offsets, Tensor columns, Tensor transposed_offsets, "
      "Tensor transposed_columns, Tensor order, Tensor values, int kind) -> (Tensor, Tensor)");
  library.def(
      "normalise_backward(Tensor offsets, Tensor columns, Tensor transposed_offsets, "
      "Tensor transposed_columns, Tensor order, Tensor normalised, Tensor scales, Tensor gradient, int kind) "
      "-> Tensor");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("normalise", qw::ops::normalise_without_gradient);
}
