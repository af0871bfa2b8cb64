// Sparse times dense on raw pointers, row-major; the sparse matrix in compressed sparse rows.
//
// Floor of spmm: `entries` reads of a column index and a value, entries * width multiply-adds on rows of
// `dense` (from cache when it fits), rows * width writes. Accumulators stay in registers, so that a result is
// written once.
#pragma once

#include <cstdint>

namespace qw::kernels {

template <class T>
struct CsrView {
  const int64_t* offsets;  // [rows + 1]
  const int32_t* columns;  // [entries]
  const T* values;         // [entries]
  const int64_t* order;    // null, or the value of entry k is values[order[k]]
  int64_t rows;
};

// result [rows, width] = matrix * dense
template <class T>
void spmm_cpu(const CsrView<T>& matrix, const T* dense, int64_t width, T* result);

// result [entries]: entry k at (i, j) gets <left[i, :], right[j, :]>
template <class T>
void sampled_products_cpu(const CsrView<T>& pattern, const T* left, const T* right, int64_t width, T* result);

}  // namespace qw::kernels
