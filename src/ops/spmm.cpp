#include "qw/ops/spmm.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/spmm_parts.h"

namespace qw {
namespace ops {

void check_spmm(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
                const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& values,
                const at::Tensor& dense) {
  constexpr const char* kOp = "qw::spmm";
  check_csr(kOp, offsets, columns, dense);
  check_index(kOp, "transposed_offsets", transposed_offsets, at::kLong, dense);
  check_index(kOp, "transposed_columns", transposed_columns, at::kInt, dense);
  check_index(kOp, "order", order, at::kLong, dense);
  const int64_t entries = columns.size(0);
  TORCH_CHECK(transposed_columns.size(0) == entries, kOp, ": the matrix has ", entries,
              " entries, its transpose ", transposed_columns.size(0));
  TORCH_CHECK(order.size(0) == entries || order.size(0) == 0, kOp, ": order must have an entry for each of ",
              entries, " entries, or none, got ", order.size(0));
  TORCH_CHECK(transposed_offsets.size(0) >= 1, kOp,
              ": transposed_offsets must have one entry more than there are columns, got none");
  check_matrix(kOp, "dense", dense, transposed_offsets.size(0) - 1, "column of the sparse matrix");
  TORCH_CHECK(values.dim() == 1 && values.size(0) == entries && values.scalar_type() == dense.scalar_type() &&
                  values.device() == dense.device(),
              kOp, ": values must be [", entries, "] of ", dense.scalar_type(), " on ", dense.device(),
              ", got ", values.sizes(), " of ", values.scalar_type(), " on ", values.device());
}

void check_addend(const char* op, const at::Tensor& offsets, const at::Tensor& dense,
                  const at::Tensor& addend) {
  const std::vector<int64_t> shape{offsets.size(0) - 1, dense.size(1)};
  const bool is_none = addend.dim() == 1 && addend.size(0) == 0;
  TORCH_CHECK(is_none || (addend.sizes() == at::IntArrayRef(shape) &&
                          addend.scalar_type() == dense.scalar_type() && addend.device() == dense.device()),
              op, ": addend must be ", at::IntArrayRef(shape), " or [0] of ", dense.scalar_type(), " on ",
              dense.device(), ", got ", addend.sizes(), " of ", addend.scalar_type(), " on ",
              addend.device());
}

void check_csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  constexpr const char* kOp = "qw::csr_matmul";
  check_csr(kOp, offsets, columns, dense);
  check_index(kOp, "order", order, at::kLong, dense);
  check_matrix(kOp, "dense", dense, dense.size(0), "column of the sparse matrix");
  TORCH_CHECK(
      values.dim() == 1 && values.size(0) == columns.size(0) && values.scalar_type() == dense.scalar_type(),
      kOp, ": values must be [", columns.size(0), "] of ", dense.scalar_type(), ", got ", values.sizes(),
      " of ", values.scalar_type());
  check_addend(kOp, offsets, dense, addend);
}

void check_sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right) {
  constexpr const char* kOp = "qw::sampled_products";
  check_csr(kOp, offsets, columns, left);
  check_matrix(kOp, "left", left, offsets.size(0) - 1, "row of the sparse matrix");
  TORCH_CHECK(right.dim() == 2 && right.size(1) == left.size(1) &&
                  right.scalar_type() == left.scalar_type() && right.device() == left.device(),
              kOp, ": right must be [K, ", left.size(1), "] of ", left.scalar_type(), " on ", left.device(),
              ", got ", right.sizes(), " of ", right.scalar_type(), " on ", right.device());
}

}  // namespace ops

SparsePattern SparsePattern::symmetric(const at::Tensor& offsets, const at::Tensor& columns) {
  at::Tensor no_order = at::empty({0}, offsets.options());
  return {offsets, columns, offsets, columns, std::move(no_order)};
}

namespace ops {

at::Tensor csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::csr_matmul", "").typed<Signature>();
  return op.call(offsets, columns, order, values, dense,
                 addend.defined() ? addend : at::empty({0}, dense.options()));
}

at::Tensor sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::sampled_products", "").typed<Signature>();
  return op.call(offsets, columns, left, right);
}

namespace {

at::Tensor spmm_without_gradient(const at::Tensor& offsets, const at::Tensor& columns,
                                 const at::Tensor& transposed_offsets, const at::Tensor& transposed_columns,
                                 const at::Tensor& order, const at::Tensor& values, const at::Tensor& dense,
                                 const at::Tensor& addend) {
  check_spmm(offsets, columns, transposed_offsets, transposed_columns, order, values, dense);
  check_addend("qw::spmm", offsets, dense, addend);
  return csr_matmul(offsets, columns, at::empty({0}, offsets.options()), values, dense, addend);
}

}  // namespace
}  // namespace ops

at::Tensor spmm(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense,
                const at::Tensor& addend) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("qw::spmm", "").typed<Signature>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, values, dense, addend.defined() ? addend : at::empty({0}, dense.options()));
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "spmm(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor transposed_columns, Tensor "
      "order, "
      "Tensor values, Tensor dense, Tensor addend) -> Tensor");
  library.def(
      "csr_matmul(Tensor offsets, Tensor columns, Tensor order, Tensor values, Tensor dense, Tensor addend) "
      "-> "
      "Tensor");
  library.def("sampled_products(Tensor offsets, Tensor columns, Tensor left, Tensor right) -> Tensor");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("spmm", qw::ops::spmm_without_gradient);
}
