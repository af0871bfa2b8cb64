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

// What is done to a product before it is stored: scale * product + first_scale * first + second_scale *
// second, for one trip through memory per step of a recurrence. Null addends are none; none may be the
// result.
template <class T>
struct Update {
  T scale = 1;
  const T* first = nullptr;  // [rows, width]
  T first_scale = 0;
  const T* second = nullptr;
  T second_scale = 0;
};

// result [rows, width] = update(matrix * dense)
template <class T>
void spmm_cpu(const CsrView<T>& matrix, const T* dense, int64_t width, T* result,
              const Update<T>& update = {});

// result [entries]: entry k at (i, j) gets scale * <left[i, :], right[j, :]>, or has it added
template <class T>
void sampled_products_cpu(const CsrView<T>& pattern, const T* left, const T* right, int64_t width, T* result,
                          T scale = 1, bool accumulate = false);

}  // namespace qw::kernels
