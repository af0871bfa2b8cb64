#include "qw/ops/edge_values.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/edge_values_parts.h"

namespace qw {
namespace ops {
namespace {

void check_row(const char* op, const char* name, const at::Tensor& row, const char* size) {
  TORCH_CHECK(row.dim() == 1 && (row.scalar_type() == at::kFloat || row.scalar_type() == at::kDouble), op,
              ": ", name, " must be [", size, "] of float32 or float64, got ", row.sizes(), " of ",
              row.scalar_type());
}

void check_entries_of(const char* op, const at::Tensor& entries_of, int64_t edges, const at::Tensor& values) {
  TORCH_CHECK(entries_of.dim() == 2 && entries_of.size(0) == edges && entries_of.size(1) == 2 &&
                  entries_of.scalar_type() == at::kLong && entries_of.is_contiguous() &&
                  entries_of.device() == values.device(),
              op, ": entries_of must be contiguous [", edges, ", 2] of Long on ", values.device(), ", got ",
              entries_of.is_contiguous() ? "" : "strided ", entries_of.sizes(), " of ",
              entries_of.scalar_type(), " on ", entries_of.device());
}

}  // namespace

void check_edge_values(const at::Tensor& weights, const EntryEdges& entries) {
  constexpr const char* kOp = "qw::edge_values";
  check_row(kOp, "weights", weights, "E");
  check_index(kOp, "edges", entries.edges, at::kLong, weights);
  check_entries_of(kOp, entries.entries_of, weights.size(0), weights);
}

void check_edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of) {
  constexpr const char* kOp = "qw::edge_values_backward";
  check_row(kOp, "gradient", gradient, "entries");
  check_entries_of(kOp, entries_of, entries_of.dim() == 0 ? 0 : entries_of.size(0), gradient);
}

at::Tensor edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::edge_values_backward", "").typed<Signature>();
  return op.call(gradient, entries_of);
}

}  // namespace ops

at::Tensor edge_values(const at::Tensor& weights, const EntryEdges& entries) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::edge_values", "").typed<Signature>();
  return op.call(weights, entries.edges, entries.entries_of);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("edge_values(Tensor weights, Tensor edges, Tensor entries_of) -> Tensor");
  library.def("edge_values_backward(Tensor gradient, Tensor entries_of) -> Tensor");
}
