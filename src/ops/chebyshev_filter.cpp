#include "qw/ops/chebyshev_filter.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/chebyshev_filter_parts.h"
#include "ops/spmm_parts.h"

namespace qw {
namespace ops {

using at::Tensor;

void check_chebyshev_filter(const SparsePattern& pattern, const Tensor& values, const Tensor& coefficients,
                            const Tensor& x) {
  constexpr const char* kOp = "qw::chebyshev_filter";
  check_spmm(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
             pattern.order, values, x);
  TORCH_CHECK(pattern.offsets.size(0) == pattern.transposed_offsets.size(0), kOp,
              ": the matrix must be square, got ", pattern.offsets.size(0) - 1, " rows and ",
              pattern.transposed_offsets.size(0) - 1, " columns");
  TORCH_CHECK(coefficients.dim() == 1 && coefficients.size(0) >= 1 &&
                  coefficients.scalar_type() == x.scalar_type() && coefficients.device() == x.device(),
              kOp, ": coefficients must be [K + 1] of ", x.scalar_type(), " on ", x.device(), ", got ",
              coefficients.sizes(), " of ", coefficients.scalar_type(), " on ", coefficients.device());
}

std::tuple<Tensor, Tensor> chebyshev_forward(const SparsePattern& pattern, const Tensor& values,
                                             const Tensor& coefficients, const Tensor& x) {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                               const Tensor&, const Tensor&, const Tensor&, const Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::chebyshev_forward", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, coefficients, x);
}

std::tuple<Tensor, Tensor, Tensor> chebyshev_backward(const SparsePattern& pattern, const Tensor& values,
                                                      const Tensor& coefficients, const Tensor& terms,
                                                      const Tensor& gradient, bool values_need_gradient) {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                       const Tensor&, const Tensor&, const Tensor&,
                                                       const Tensor&, const Tensor&, const Tensor&, bool);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::chebyshev_backward", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, coefficients, terms, gradient, values_need_gradient);
}

namespace {

Tensor filter_without_gradient(const Tensor& offsets, const Tensor& columns, const Tensor& transposed_offsets,
                               const Tensor& transposed_columns, const Tensor& order, const Tensor& values,
                               const Tensor& coefficients, const Tensor& x) {
  return std::get<1>(chebyshev_forward({offsets, columns, transposed_offsets, transposed_columns, order},
                                       values, coefficients, x));
}

}  // namespace
}  // namespace ops

at::Tensor chebyshev_filter(const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& coefficients, const at::Tensor& x) {
  using at::Tensor;
  using Signature = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, const Tensor&, const Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::chebyshev_filter", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, coefficients, x);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "chebyshev_filter(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor "
      "transposed_columns, Tensor "
      "order, Tensor values, Tensor coefficients, Tensor x) -> Tensor");
  library.def(
      "chebyshev_forward(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor "
      "transposed_columns, Tensor "
      "order, Tensor values, Tensor coefficients, Tensor x) -> (Tensor, Tensor)");
  library.def(
      "chebyshev_backward(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor "
      "transposed_columns, Tensor "
      "order, Tensor values, Tensor coefficients, Tensor terms, Tensor gradient, bool values_need_gradient) "
      "-> (Tensor, "
      "Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("chebyshev_filter", qw::ops::filter_without_gradient);
}
