#include <algorithm>
#include <span>

#include "kernels/spmm.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kWorkPerThread = 1 << 15;  // multiply-adds that are worth a thread

template <class T>
QW_INLINE T value_at(const CsrView<T>& matrix, int64_t at) {
  return matrix.values[matrix.order == nullptr ? at : matrix.order[at]];
}

// The entries of a row as they are.
template <class T>
struct AllEntries {
  const CsrView<T>& matrix;

  template <size_t kBytes, class Add>
  QW_INLINE void each(int64_t row, const T*, int64_t, const Add& add) {
    for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at)
      add(value_at(matrix, at), matrix.columns[at]);
  }
};

// The same where the rows of the dense matrix are far: kBytes of each are asked for ahead, also of the next
// rows' entries.
template <class T>
struct FarEntries {
  const CsrView<T>& matrix;
  int64_t last = matrix.offsets[matrix.rows] - 1;

  template <size_t kBytes, class Add>
  QW_INLINE void each(int64_t row, const T* dense, int64_t width, const Add& add) {
    for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
      prefetch<kBytes>(dense + matrix.columns[std::min(at + rows_ahead(kBytes), last)] * width);
      add(value_at(matrix, at), matrix.columns[at]);
    }
  }
};

// Those that are not zero: a list of them, made without a branch, since of dropout nothing can be predicted,
// serves all tiles of the row. Only a row that is longer than the list is listed anew for each.
template <class T>
struct NonzeroEntries {
  static constexpr int64_t kMost = 2048;
  const CsrView<T>& matrix;
  int64_t begin = -1;  // of what was listed
  int64_t count = 0;
  T values[kMost];
  int32_t columns[kMost];

  // Leaves the list as it is in memory: braces would clear it, for every range of rows.
  explicit NonzeroEntries(const CsrView<T>& of) : matrix(of) {}

  template <size_t kBytes, class Add>
  QW_INLINE void each(int64_t row, const T*, int64_t, const Add& add) {
    const int64_t end = matrix.offsets[row + 1];
    for (int64_t at = matrix.offsets[row]; at < end; at += kMost) {
      if (at != begin) list(at, std::min(at + kMost, end));
      for (int64_t k = 0; k < count; ++k) add(values[k], columns[k]);
    }
  }

 private:
  QW_INLINE void list(int64_t first, int64_t end) {
    begin = first;
    int64_t listed = 0;
    for (int64_t at = first; at < end; ++at) {
      const T value = value_at(matrix, at);
      values[listed] = value;
      columns[listed] = matrix.columns[at];
      listed += value != 0 ? 1 : 0;
    }
    count = listed;
  }
};

// Whether dropout was here: judged by some of the values, since all results are the same.
template <class T>
bool has_many_zeros(const CsrView<T>& matrix) {
  constexpr int64_t kSample = 256;
  const int64_t sample = std::min(kSample, matrix.offsets[matrix.rows]);
  const int64_t zeros = std::count(matrix.values, matrix.values + sample, T(0));
  return 8 * zeros > sample;
}

// What remains to be done with sums that are stored at `at`.
template <int kVectors, class T>
QW_INLINE void finish(Accumulators<T, kVectors>& sums, int64_t at, T* result, const Update<T>& update) {
  if (update.scale != T(1)) sums.multiply(update.scale);
  if (update.first != nullptr) sums.add_scaled(update.first_scale, update.first + at);
  if (update.second != nullptr) sums.add_scaled(update.second_scale, update.second + at);
  sums.store(result + at);
}

// One row of the result, kVectors vectors from column `first` on. With kLast also the columns that are left,
// fewer than a vector: by one that ends at the last column, which does some columns twice, with the same
// result, and beats single ones.
template <int kVectors, bool kLast, class T, class Entries>
QW_INLINE void tile(Entries& entries, int64_t row, const T* dense, int64_t width, int64_t first, T* result,
                    const Update<T>& update) {
  Accumulators<T, kVectors> sums;
  Accumulators<T, kLast ? 1 : 0> last;
  const int64_t from_first = width - kLanes<T> - first;
  const auto add = [&](T value, int64_t column) __attribute__((always_inline)) {
    const T* source = dense + column * width + first;
    sums.add_scaled(value, source);
    last.add_scaled(value, source + from_first);
  };
  entries.template each<(kVectors + kLast) * kVectorBytes>(row, dense + first, width, add);
  const int64_t at = row * width + first;
  finish(sums, at, result, update);
  finish(last, at + from_first, result, update);
}

// All columns, fewer than a vector.
template <class T, class Entries>
QW_INLINE void narrow_row(Entries& entries, int64_t row, const T* dense, int64_t width, T* result,
                          const Update<T>& update) {
  T sum[kLanes<T>] = {};
  const auto add = [&](T value, int64_t column) __attribute__((always_inline)) {
    const T* source = dense + column * width;
    for (int64_t c = 0; c < width; ++c) sum[c] += value * source[c];
  };
  entries.template each<sizeof(T)>(row, dense, width, add);
  for (int64_t c = 0; c < width; ++c) {
    const int64_t at = row * width + c;
    T value = update.scale * sum[c];
    if (update.first != nullptr) value += update.first_scale * update.first[at];
    if (update.second != nullptr) value += update.second_scale * update.second[at];
    result[at] = value;
  }
}

template <class T, class Entries>
QW_INLINE void spmm_row(Entries& entries, int64_t row, const T* dense, int64_t width, T* result,
                        const Update<T>& update) {
  constexpr int64_t kVector = kLanes<T>;
  if (width < kVector) return narrow_row(entries, row, dense, width, result, update);
  constexpr int kWidest = kVectorBytes == 16 ? 16 : 8;  // half of the registers
  int64_t first = 0;
  for (; first + kWidest * kVector <= width; first += kWidest * kVector)
    tile<kWidest, false>(entries, row, dense, width, first, result, update);
  if (first + 8 * kVector <= width) {
    tile<8, false>(entries, row, dense, width, first, result, update);
    first += 8 * kVector;
  }
  if (first + 4 * kVector <= width) {
    tile<4, false>(entries, row, dense, width, first, result, update);
    first += 4 * kVector;
  }
  const int64_t left = width - first;
  switch (2 * (left / kVector) + (left % kVector != 0 ? 1 : 0)) {
    case 1:
      return tile<0, true>(entries, row, dense, width, first, result, update);
    case 2:
      return tile<1, false>(entries, row, dense, width, first, result, update);
    case 3:
      return tile<1, true>(entries, row, dense, width, first, result, update);
    case 4:
      return tile<2, false>(entries, row, dense, width, first, result, update);
    case 5:
      return tile<2, true>(entries, row, dense, width, first, result, update);
    case 6:
      return tile<3, false>(entries, row, dense, width, first, result, update);
    case 7:
      return tile<3, true>(entries, row, dense, width, first, result, update);
    default:
      return;
  }
}

template <class T, class Entries>
QW_INLINE void spmm_rows(Entries& entries, int64_t begin, int64_t end, const T* dense, int64_t width,
                         T* result, const Update<T>& update) {
  for (int64_t row = begin; row < end; ++row) spmm_row(entries, row, dense, width, result, update);
}

template <class T>
QW_INLINE void sampled_rows(const CsrView<T>& pattern, int64_t begin, int64_t end, const T* left,
                            const T* right, int64_t width, T* result, T scale, bool accumulate) {
  // Eight running sums, added in a fixed order: a single one would wait for each addition.
  constexpr int kSums = 8;
  for (int64_t row = begin; row < end; ++row) {
    const T* a = left + row * width;
    for (int64_t at = pattern.offsets[row]; at < pattern.offsets[row + 1]; ++at) {
      const T* b = right + pattern.columns[at] * width;
      T sum[kSums] = {};
      int64_t c = 0;
      for (; c + kSums <= width; c += kSums) {
        for (int lane = 0; lane < kSums; ++lane) sum[lane] += a[c + lane] * b[c + lane];
      }
      for (; c < width; ++c) sum[c % kSums] += a[c] * b[c];
      const T product = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
      result[at] = (accumulate ? result[at] : T(0)) + scale * product;
    }
  }
}

QW_MULTIVERSION void spmm_range(const CsrView<float>& matrix, int64_t begin, int64_t end, const float* dense,
                                int64_t width, float* result, const Update<float>& update) {
  AllEntries<float> entries{matrix};
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void spmm_range_far(const CsrView<float>& matrix, int64_t begin, int64_t end,
                                    const float* dense, int64_t width, float* result,
                                    const Update<float>& update) {
  FarEntries<float> entries{matrix};
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void spmm_range_of_nonzeros(const CsrView<float>& matrix, int64_t begin, int64_t end,
                                            const float* dense, int64_t width, float* result,
                                            const Update<float>& update) {
  NonzeroEntries<float> entries(matrix);
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void spmm_range(const CsrView<double>& matrix, int64_t begin, int64_t end,
                                const double* dense, int64_t width, double* result,
                                const Update<double>& update) {
  AllEntries<double> entries{matrix};
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void spmm_range_far(const CsrView<double>& matrix, int64_t begin, int64_t end,
                                    const double* dense, int64_t width, double* result,
                                    const Update<double>& update) {
  FarEntries<double> entries{matrix};
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void spmm_range_of_nonzeros(const CsrView<double>& matrix, int64_t begin, int64_t end,
                                            const double* dense, int64_t width, double* result,
                                            const Update<double>& update) {
  NonzeroEntries<double> entries(matrix);
  spmm_rows(entries, begin, end, dense, width, result, update);
}

QW_MULTIVERSION void sampled_range(const CsrView<float>& pattern, int64_t begin, int64_t end,
                                   const float* left, const float* right, int64_t width, float* result,
                                   float scale, bool accumulate) {
  sampled_rows(pattern, begin, end, left, right, width, result, scale, accumulate);
}

QW_MULTIVERSION void sampled_range(const CsrView<double>& pattern, int64_t begin, int64_t end,
                                   const double* left, const double* right, int64_t width, double* result,
                                   double scale, bool accumulate) {
  sampled_rows(pattern, begin, end, left, right, width, result, scale, accumulate);
}

template <class T, class Body>
void for_row_ranges(const CsrView<T>& matrix, int64_t width, const Body& body) {
  const std::span<const int64_t> offsets(matrix.offsets, static_cast<size_t>(matrix.rows) + 1);
  parallel_rows(offsets, kWorkPerThread / std::max<int64_t>(1, width), body);
}

}  // namespace

template <class T>
void spmm_cpu(const CsrView<T>& matrix, const DenseView<T>& dense, T* result, const Update<T>& update) {
  const int64_t width = dense.width;
  // Fewer columns are not worth a list.
  const bool nonzeros = width >= 4 * kLanes<T> && has_many_zeros(matrix);
  const bool far = is_far(dense.rows, width, sizeof(T));
  using Range = void (*)(const CsrView<T>&, int64_t, int64_t, const T*, int64_t, T*, const Update<T>&);
  const Range plain = far ? static_cast<Range>(spmm_range_far) : static_cast<Range>(spmm_range);
  const Range range = nonzeros ? static_cast<Range>(spmm_range_of_nonzeros) : plain;
  for_row_ranges(matrix, width, [&](int64_t begin, int64_t end) {
    range(matrix, begin, end, dense.data, width, result, update);
  });
}

template <class T>
void sampled_products_cpu(const CsrView<T>& pattern, const T* left, const T* right, int64_t width, T* result,
                          T scale, bool accumulate) {
  for_row_ranges(pattern, width, [&](int64_t begin, int64_t end) {
    sampled_range(pattern, begin, end, left, right, width, result, scale, accumulate);
  });
}

template void spmm_cpu(const CsrView<float>&, const DenseView<float>&, float*, const Update<float>&);
template void spmm_cpu(const CsrView<double>&, const DenseView<double>&, double*, const Update<double>&);
template void sampled_products_cpu(const CsrView<float>&, const float*, const float*, int64_t, float*, float,
                                   bool);
template void sampled_products_cpu(const CsrView<double>&, const double*, const double*, int64_t, double*,
                                   double, bool);

}  // namespace qw::kernels
