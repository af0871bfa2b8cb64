// Row sums of a sparse matrix divided out of its values, and the gradients of that, on raw pointers.
//
// Floor, for each entry of T: symmetric reads the value twice and a column once, gathers a scale and writes
// once; its backward pass reads the gradient and the normalised value, gathers one number through `order` and
// makes one more pass like the forward one. Rows and softmax read and write once, a row in cache at a time,
// softmax with one exponential; backward they read twice as much. A result is used as scratch, so that
// nothing else of the size of the entries is needed.
#pragma once

#include <cstdint>

#include "kernels/spmm.h"

namespace qw::kernels {

// The entries of column j are order[offsets[j]] .. order[offsets[j + 1] - 1]
struct ColumnsView {
  const int64_t* offsets;  // [rows + 1]
  const int64_t* order;    // [entries]
};

// scales [rows] = 1 / sqrt(sum of the row), 0 where that sum is not positive; result [entries] = v_ij
// scales_i scales_j. The matrices here have no `order`.
template <class T>
void normalise_symmetric_cpu(const CsrView<T>& matrix, T* scales, T* result);

// scales [rows] = 1 / sum of the row, 0 where that sum is 0; result [entries] = v_ij / sum of row i
template <class T>
void normalise_rows_cpu(const CsrView<T>& matrix, T* scales, T* result);

// sums [rows] of the rows' values, with the bits that the functions above have
template <class T>
void row_sums_cpu(const CsrView<T>& matrix, T* sums);

// result [entries] = exp(v_ij) / sum over the row of exp(v_ik)
template <class T>
void normalise_softmax_cpu(const CsrView<T>& matrix, T* result);

// The gradients for the values, from those for the results; `normalised` has the results as its values.
// sums_gradient [rows] is that for the sums of the rows.
template <class T>
void normalise_symmetric_backward_cpu(const CsrView<T>& normalised, const ColumnsView& columns,
                                      const T* scales, const T* gradient, T* sums_gradient,
                                      T* values_gradient);
template <class T>
void normalise_rows_backward_cpu(const CsrView<T>& normalised, const T* scales, const T* gradient,
                                 T* values_gradient);
template <class T>
void normalise_softmax_backward_cpu(const CsrView<T>& normalised, const T* gradient, T* values_gradient);

// On the device: two launches for the symmetric kind, three for its gradient from 2^21 entries on, one for
// the others. `entries` is the number of them.
template <class T>
void normalise_symmetric_cuda(const CsrView<T>& matrix, int64_t entries, T* scales, T* result, Stream stream);
template <class T>
void normalise_rows_cuda(const CsrView<T>& matrix, int64_t entries, T* scales, T* result, Stream stream);
template <class T>
void normalise_softmax_cuda(const CsrView<T>& matrix, int64_t entries, T* result, Stream stream);
template <class T>
void normalise_symmetric_backward_cuda(const CsrView<T>& normalised, int64_t entries,
                                       const ColumnsView& columns, const T* scales, const T* gradient,
                                       T* sums_gradient, T* values_gradient, Stream stream);
template <class T>
void normalise_rows_backward_cuda(const CsrView<T>& normalised, int64_t entries, const T* scales,
                                  const T* gradient, T* values_gradient, Stream stream);
template <class T>
void normalise_softmax_backward_cuda(const CsrView<T>& normalised, int64_t entries, const T* gradient,
                                     T* values_gradient, Stream stream);

}  // namespace qw::kernels
