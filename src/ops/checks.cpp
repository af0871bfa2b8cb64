#include "ops/checks.h"

#include <c10/util/Exception.h>

#include "ops/index_checks.h"

namespace qw::ops {

void check_index(const char* op, const char* name, const at::Tensor& index, at::ScalarType type,
                 const at::Tensor& values) {
  TORCH_CHECK(index.dim() == 1 && index.scalar_type() == type && index.is_contiguous(), op, ": ", name,
              " must be one contiguous row of ", type, ", got ", index.scalar_type(), " ", index.sizes());
  TORCH_CHECK(index.device() == values.device(), op, ": ", name, " is on ", index.device(),
              ", the values are on ", values.device());
}

void check_matrix(const char* op, const char* name, const at::Tensor& matrix, int64_t rows,
                  const char* rows_are) {
  TORCH_CHECK(matrix.dim() == 2 && matrix.size(0) == rows, op, ": ", name, " must be [", rows,
              ", C], a row for each ", rows_are, ", got ", matrix.sizes());
  TORCH_CHECK(matrix.scalar_type() == at::kFloat || matrix.scalar_type() == at::kDouble, op, ": ", name,
              " must be float32 or float64, got ", matrix.scalar_type());
}

void check_csr(const char* op, const at::Tensor& offsets, const at::Tensor& columns,
               const at::Tensor& values) {
  check_index(op, "offsets", offsets, at::kLong, values);
  check_index(op, "columns", columns, at::kInt, values);
  TORCH_CHECK(offsets.size(0) >= 1, op, ": offsets must have one entry more than there are rows, got none");
}

void check_square_pattern(const char* op, const SparsePattern& pattern, const at::Tensor& values) {
  check_csr(op, pattern.offsets, pattern.columns, values);
  check_index(op, "transposed_offsets", pattern.transposed_offsets, at::kLong, values);
  check_index(op, "transposed_columns", pattern.transposed_columns, at::kInt, values);
  check_index(op, "order", pattern.order, at::kLong, values);
  TORCH_CHECK(pattern.transposed_offsets.size(0) == pattern.offsets.size(0), op, ": offsets has ",
              pattern.offsets.size(0), " entries, transposed_offsets ", pattern.transposed_offsets.size(0),
              "; the pattern must be square");
  TORCH_CHECK(pattern.transposed_columns.size(0) == pattern.columns.size(0), op, ": the pattern has ",
              pattern.columns.size(0), " entries, its transpose ", pattern.transposed_columns.size(0));
}

std::vector<at::Tensor> tensors_of(const SparsePattern& pattern) {
  std::vector<at::Tensor> tensors{pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                  pattern.transposed_columns, pattern.order};
  if (pattern.entry_numbers.defined()) tensors.push_back(pattern.entry_numbers);
  return tensors;
}

SparsePattern pattern_of(at::TensorList tensors) {
  TORCH_CHECK(tensors.size() == 5 || tensors.size() == 6,
              "qw: a pattern must be 5 tensors (offsets, columns, transposed_offsets, transposed_columns, "
              "order), got ",
              tensors.size());
  return {tensors[0], tensors[1], tensors[2], tensors[3],
          tensors[4], nullptr,    {},         tensors.size() == 6 ? tensors[5] : at::Tensor()};
}

std::vector<at::Tensor> tensors_of(const IncidenceTensors& graph) {
  return {graph.heads, graph.tails, graph.offsets, graph.arcs};
}

IncidenceTensors incidence_of(at::TensorList tensors) {
  TORCH_CHECK(tensors.size() == 4, "qw: a graph must be 4 tensors (heads, tails, offsets, arcs), got ",
              tensors.size());
  return {tensors[0], tensors[1], tensors[2], tensors[3]};
}

void check_incidence_tensors(const char* op, const IncidenceTensors& graph, const at::Tensor& values) {
  check_index(op, "heads", graph.heads, at::kInt, values);
  check_index(op, "tails", graph.tails, at::kInt, values);
  check_index(op, "offsets", graph.offsets, at::kLong, values);
  check_index(op, "arcs", graph.arcs, at::kLong, values);
  const int64_t edges = graph.heads.size(0);
  TORCH_CHECK(graph.tails.size(0) == edges, op, ": heads has ", edges, " edges but tails has ",
              graph.tails.size(0));
  TORCH_CHECK(graph.arcs.size(0) == 2 * edges, op, ": ", edges, " edges have ", 2 * edges, " arcs, got ",
              graph.arcs.size(0));
  TORCH_CHECK(graph.offsets.size(0) >= 1, op,
              ": offsets must have one entry more than there are nodes, got none");
  check_incidence_entries(op, graph);
}

}  // namespace qw::ops
