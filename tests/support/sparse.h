// Random sparse matrices for the operators' tests, and what an operator says when it refuses.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "qw/ops/spmm.h"
#include "support/graph_tensors.h"

namespace qw::test {

// A random sparse matrix with whole numbers as values, as a pattern and as the dense matrix it is.
struct Sparse {
  SparsePattern pattern;
  at::Tensor values;
  at::Tensor dense;
};

inline at::Tensor offsets_of(const std::vector<int64_t>& rows, int64_t count) {
  std::vector<int64_t> offsets(count + 1, 0);
  for (const int64_t row : rows) ++offsets[row + 1];
  for (int64_t row = 0; row < count; ++row) offsets[row + 1] += offsets[row];
  return tensor_of(offsets, at::kLong);
}

inline Sparse sparse_matrix(int64_t rows, int64_t columns, double density, at::ScalarType type) {
  at::manual_seed(rows * 1000 + columns);
  Sparse sparse;
  sparse.dense = at::zeros({rows, columns}, type);
  std::vector<int64_t> entry_row, entry_column;
  std::vector<int32_t> column_ids, transposed_ids;
  std::vector<int64_t> order, transposed_row;
  std::vector<double> values;
  const at::Tensor chosen = at::rand({rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (chosen[i][j].item<double>() >= density) continue;
      values.push_back(static_cast<double>((i * 7 + j * 3) % 11 - 5));
      sparse.dense[i][j] = values.back();
      entry_row.push_back(i);
      entry_column.push_back(j);
      column_ids.push_back(static_cast<int32_t>(j));
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (size_t k = 0; k < entry_column.size(); ++k) {
      if (entry_column[k] != j) continue;
      order.push_back(static_cast<int64_t>(k));
      transposed_ids.push_back(static_cast<int32_t>(entry_row[k]));
      transposed_row.push_back(j);
    }
  }
  sparse.pattern = {offsets_of(entry_row, rows), tensor_of(column_ids, at::kInt),
                    offsets_of(transposed_row, columns), tensor_of(transposed_ids, at::kInt),
                    tensor_of(order, at::kLong)};
  sparse.values = tensor_of(values, at::kDouble).to(type);
  return sparse;
}

inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "not refused";
}

}  // namespace qw::test
