#include <algorithm>
#include <span>

#include "kernels/spmm.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kTile = 32;                // columns of one pass over a row's entries
constexpr int64_t kWorkPerThread = 1 << 15;  // multiply-adds that are worth a thread

template <class T>
inline T value_at(const CsrView<T>& matrix, int64_t at) {
  return matrix.values[matrix.order == nullptr ? at : matrix.order[at]];
}

// One row, columns [first, first + kWidth) of the result.
template <class T, int kWidth>
inline __attribute__((always_inline)) void full_tile(const CsrView<T>& matrix, int64_t row, const T* dense,
                                                     int64_t width, int64_t first, T* result) {
  T sum[kWidth] = {};
  for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
    const T value = value_at(matrix, at);
    const T* source = dense + matrix.columns[at] * width + first;
    for (int c = 0; c < kWidth; ++c) sum[c] += value * source[c];
  }
  T* target = result + row * width + first;
  for (int c = 0; c < kWidth; ++c) target[c] = sum[c];
}

template <class T>
inline __attribute__((always_inline)) void last_tile(const CsrView<T>& matrix, int64_t row, const T* dense,
                                                     int64_t width, int64_t first, T* result) {
  T sum[kTile] = {};
  const int64_t count = width - first;
  for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
    const T value = value_at(matrix, at);
    const T* source = dense + matrix.columns[at] * width + first;
    for (int64_t c = 0; c < count; ++c) sum[c] += value * source[c];
  }
  std::copy(sum, sum + count, result + row * width + first);
}

template <class T>
inline __attribute__((always_inline)) void spmm_rows(const CsrView<T>& matrix, int64_t begin, int64_t end,
                                                     const T* dense, int64_t width, T* result) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t first = 0;
    for (; first + kTile <= width; first += kTile)
      full_tile<T, kTile>(matrix, row, dense, width, first, result);
    if (first + 16 <= width) {
      full_tile<T, 16>(matrix, row, dense, width, first, result);
      first += 16;
    }
    if (first + 8 <= width) {
      full_tile<T, 8>(matrix, row, dense, width, first, result);
      first += 8;
    }
    if (first < width) last_tile<T>(matrix, row, dense, width, first, result);
  }
}

template <class T>
inline __attribute__((always_inline)) void sampled_rows(const CsrView<T>& pattern, int64_t begin, int64_t end,
                                                        const T* left, const T* right, int64_t width,
                                                        T* result) {
  // Eight running sums, added in a fixed order: a single one would wait for each addition.
  constexpr int kLanes = 8;
  for (int64_t row = begin; row < end; ++row) {
    const T* a = left + row * width;
    for (int64_t at = pattern.offsets[row]; at < pattern.offsets[row + 1]; ++at) {
      const T* b = right + pattern.columns[at] * width;
      T sum[kLanes] = {};
      int64_t c = 0;
      for (; c + kLanes <= width; c += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) sum[lane] += a[c + lane] * b[c + lane];
      }
      for (; c < width; ++c) sum[c % kLanes] += a[c] * b[c];
      result[at] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
  }
}

QW_MULTIVERSION void spmm_range(const CsrView<float>& matrix, int64_t begin, int64_t end, const float* dense,
                                int64_t width, float* result) {
  spmm_rows(matrix, begin, end, dense, width, result);
}

QW_MULTIVERSION void spmm_range(const CsrView<double>& matrix, int64_t begin, int64_t end,
                                const double* dense, int64_t width, double* result) {
  spmm_rows(matrix, begin, end, dense, width, result);
}

QW_MULTIVERSION void sampled_range(const CsrView<float>& pattern, int64_t begin, int64_t end,
                                   const float* left, const float* right, int64_t width, float* result) {
  sampled_rows(pattern, begin, end, left, right, width, result);
}

QW_MULTIVERSION void sampled_range(const CsrView<double>& pattern, int64_t begin, int64_t end,
                                   const double* left, const double* right, int64_t width, double* result) {
  sampled_rows(pattern, begin, end, left, right, width, result);
}

template <class T, class Body>
void for_row_ranges(const CsrView<T>& matrix, int64_t width, const Body& body) {
  const std::span<const int64_t> offsets(matrix.offsets, static_cast<size_t>(matrix.rows) + 1);
  parallel_rows(offsets, kWorkPerThread / std::max<int64_t>(1, width), body);
}

}  // namespace

template <class T>
void spmm_cpu(const CsrView<T>& matrix, const T* dense, int64_t width, T* result) {
  for_row_ranges(matrix, width,
                 [&](int64_t begin, int64_t end) { spmm_range(matrix, begin, end, dense, width, result); });
}

template <class T>
void sampled_products_cpu(const CsrView<T>& pattern, const T* left, const T* right, int64_t width,
                          T* result) {
  for_row_ranges(pattern, width, [&](int64_t begin, int64_t end) {
    sampled_range(pattern, begin, end, left, right, width, result);
  });
}

template void spmm_cpu(const CsrView<float>&, const float*, int64_t, float*);
template void spmm_cpu(const CsrView<double>&, const double*, int64_t, double*);
template void sampled_products_cpu(const CsrView<float>&, const float*, const float*, int64_t, float*);
template void sampled_products_cpu(const CsrView<double>&, const double*, const double*, int64_t, double*);

}  // namespace qw::kernels
