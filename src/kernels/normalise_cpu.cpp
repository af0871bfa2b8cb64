#include <algorithm>
#include <cmath>

#include "kernels/exponential.h"
#include "kernels/normalise.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kEntriesPerThread = 1 << 14;  // entries that are worth a thread

// Eight running sums, added in a fixed order: a single one would wait for each addition.
template <class T>
QW_INLINE T sum_of(const T* values, int64_t count) {
  constexpr int kSums = 8;
  T total = 0;
  int64_t k = 0;
  if (count >= kSums) {
    T sum[kSums] = {};
    for (; k + kSums <= count; k += kSums) {
      for (int lane = 0; lane < kSums; ++lane) sum[lane] += values[k + lane];
    }
    total = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
  for (; k < count; ++k) total += values[k];
  return total;
}

// product = left * right, entry by entry, and the sum of it.
template <class T>
QW_INLINE T products(const T* __restrict left, const T* __restrict right, int64_t count,
                     T* __restrict product) {
  for (int64_t k = 0; k < count; ++k) product[k] = left[k] * right[k];
  return sum_of(product, count);
}

// result = values * (own * other) + addend, with `other` the scale of each entry's column. The two scales
// first: so the result at (i, j) and (j, i) has the same bits.
template <class T>
QW_INLINE void scale_pairs(const T* __restrict values, const int32_t* __restrict columns, int64_t count,
                           T own, const T* __restrict scales, T addend, T* __restrict result) {
  for (int64_t k = 0; k < count; ++k) result[k] = values[k] * (own * scales[columns[k]]) + addend;
}

template <class T>
QW_INLINE void softmax(const T* __restrict values, int64_t count, T* __restrict result) {
  if (count == 0) return;
  const T maximum = *std::max_element(values, values + count);
  for (int64_t k = 0; k < count; ++k) result[k] = exponential(values[k] - maximum);
  const T scale = T(1) / sum_of(result, count);
  for (int64_t k = 0; k < count; ++k) result[k] *= scale;
}

template <class T>
QW_INLINE void softmax_rows(const CsrView<T>& matrix, int64_t begin, int64_t end, T* result) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = matrix.offsets[row];
    softmax(matrix.values + first, matrix.offsets[row + 1] - first, result + first);
  }
}

// Of all loops here these alone are bound by arithmetic.
QW_MULTIVERSION void softmax_range(const CsrView<float>& matrix, int64_t begin, int64_t end, float* result) {
  softmax_rows(matrix, begin, end, result);
}
QW_MULTIVERSION void softmax_range(const CsrView<double>& matrix, int64_t begin, int64_t end,
                                   double* result) {
  softmax_rows(matrix, begin, end, result);
}

// Calls body(row, first entry, number of entries) for every row.
template <class Body>
void for_rows(const int64_t* offsets, int64_t rows, const Body& body) {
  parallel_rows({offsets, static_cast<size_t>(rows) + 1}, kEntriesPerThread, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row, offsets[row], offsets[row + 1] - offsets[row]);
  });
}

}  // namespace

template <class T>
void normalise_symmetric_cpu(const CsrView<T>& matrix, T* scales, T* result) {
  for_rows(matrix.offsets, matrix.rows, [&](int64_t row, int64_t first, int64_t count) {
    const T sum = sum_of(matrix.values + first, count);
    scales[row] = sum <= 0 ? T(0) : T(1) / std::sqrt(sum);
  });
  for_rows(matrix.offsets, matrix.rows, [&](int64_t row, int64_t first, int64_t count) {
    scale_pairs(matrix.values + first, matrix.columns + first, count, scales[row], scales, T(0),
                result + first);
  });
}

template <class T>
void normalise_rows_cpu(const CsrView<T>& matrix, T* scales, T* result) {
  for_rows(matrix.offsets, matrix.rows, [&](int64_t row, int64_t first, int64_t count) {
    const T* values = matrix.values + first;
    const T sum = sum_of(values, count);
    scales[row] = sum == 0 ? T(0) : T(1) / sum;
    for (int64_t k = 0; k < count; ++k) result[first + k] = sum == 0 ? T(0) : values[k] / sum;
  });
}

template <class T>
void row_sums_cpu(const CsrView<T>& matrix, T* sums) {
  for_rows(matrix.offsets, matrix.rows, [&](int64_t row, int64_t first, int64_t count) {
    sums[row] = sum_of(matrix.values + first, count);
  });
}

template <class T>
void normalise_softmax_cpu(const CsrView<T>& matrix, T* result) {
  parallel_rows({matrix.offsets, static_cast<size_t>(matrix.rows) + 1}, kEntriesPerThread,
                [&](int64_t begin, int64_t end) { softmax_range(matrix, begin, end, result); });
}

template <class T>
void normalise_symmetric_backward_cpu(const CsrView<T>& normalised, const ColumnsView& columns,
                                      const T* scales, const T* gradient, T* sums_gradient,
                                      T* values_gradient) {
  T* product = values_gradient;  // until the last loop, which no longer needs it
  for_rows(normalised.offsets, normalised.rows, [&](int64_t row, int64_t first, int64_t count) {
    sums_gradient[row] = products(gradient + first, normalised.values + first, count, product + first);
  });
  for_rows(columns.offsets, normalised.rows, [&](int64_t column, int64_t first, int64_t count) {
    T sum = 0;
    for (int64_t k = first; k < first + count; ++k) sum += product[columns.order[k]];
    sums_gradient[column] = T(-0.5) * scales[column] * scales[column] * (sums_gradient[column] + sum);
  });
  for_rows(normalised.offsets, normalised.rows, [&](int64_t row, int64_t first, int64_t count) {
    scale_pairs(gradient + first, normalised.columns + first, count, scales[row], scales, sums_gradient[row],
                values_gradient + first);
  });
}

template <class T>
void normalise_rows_backward_cpu(const CsrView<T>& normalised, const T* scales, const T* gradient,
                                 T* values_gradient) {
  for_rows(normalised.offsets, normalised.rows, [&](int64_t row, int64_t first, int64_t count) {
    T* result = values_gradient + first;
    const T mean = products(gradient + first, normalised.values + first, count, result);
    for (int64_t k = 0; k < count; ++k) result[k] = (gradient[first + k] - mean) * scales[row];
  });
}

template <class T>
void normalise_softmax_backward_cpu(const CsrView<T>& normalised, const T* gradient, T* values_gradient) {
  for_rows(normalised.offsets, normalised.rows, [&](int64_t, int64_t first, int64_t count) {
    T* result = values_gradient + first;
    const T* values = normalised.values + first;
    const T mean = products(gradient + first, values, count, result);
    for (int64_t k = 0; k < count; ++k) result[k] = values[k] * (gradient[first + k] - mean);
  });
}

template void normalise_symmetric_cpu(const CsrView<float>&, float*, float*);
template void normalise_symmetric_cpu(const CsrView<double>&, double*, double*);
template void normalise_rows_cpu(const CsrView<float>&, float*, float*);
template void normalise_rows_cpu(const CsrView<double>&, double*, double*);
template void row_sums_cpu(const CsrView<float>&, float*);
template void row_sums_cpu(const CsrView<double>&, double*);
template void normalise_softmax_cpu(const CsrView<float>&, float*);
template void normalise_softmax_cpu(const CsrView<double>&, double*);
template void normalise_symmetric_backward_cpu(const CsrView<float>&, const ColumnsView&, const float*,
                                               const float*, float*, float*);
template void normalise_symmetric_backward_cpu(const CsrView<double>&, const ColumnsView&, const double*,
                                               const double*, double*, double*);
template void normalise_rows_backward_cpu(const CsrView<float>&, const float*, const float*, float*);
template void normalise_rows_backward_cpu(const CsrView<double>&, const double*, const double*, double*);
template void normalise_softmax_backward_cpu(const CsrView<float>&, const float*, float*);
template void normalise_softmax_backward_cpu(const CsrView<double>&, const double*, double*);

}  // namespace qw::kernels
