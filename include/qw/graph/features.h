// Node features: one row per node, kept dense or in compressed sparse rows, whichever is cheaper to multiply
// with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// A matrix of features, of which either `dense` or the three sparse arrays are filled.
struct Features {
  int64_t rows = 0;     // nodes
  int64_t columns = 0;  // features of each
  bool sparse = false;  // which of the two forms is in use

  std::vector<float> dense;  // [rows * columns], row by row, when not sparse

  std::vector<int64_t> offsets;  // when sparse: row r is offsets[r] .. offsets[r+1]
  std::vector<int32_t> indices;  // ascending within a row
  std::vector<float> values;     // no zeros

  std::vector<std::string> names;  // empty, or one per column

  // Entries that are not zero, in either form.
  int64_t nonzeros() const;
};

// Below this share of non-zeros features are kept sparse.
inline constexpr double kSparseDensity = 0.25;
bool prefers_sparse(int64_t nonzeros, int64_t rows, int64_t columns);

// Both choose the representation by density and drop stored zeros. `values` is [rows * columns].
Features features_from_dense(int64_t rows, int64_t columns, std::vector<float> values);
// Rows of (index, value); indices are sorted, duplicates within a row are summed. The arrays must be
// consistent: offsets ascending from 0 to indices.size() == values.size(), each index in [0, columns); throws
// qw::Error otherwise.
Features features_from_rows(int64_t columns, std::vector<int64_t> offsets, std::vector<int32_t> indices,
                            std::vector<float> values);

// Divides each row by its sum, or by 1 where the sum is below 1: the published preprocessing.
Features row_normalised(Features features);

}  // namespace qw
