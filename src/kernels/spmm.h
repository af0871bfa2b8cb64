// Sparse times dense on raw pointers, row-major; the sparse matrix in compressed sparse rows.
//
// Floor of spmm: `entries` reads of a column index and a value, entries * width multiply-adds on rows of
// `dense` (from cache when it fits), rows * width writes. Accumulators stay in registers, so that a result is
// written once.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

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

template <class T>
struct DenseView {
  const T* data;  // [rows, width]
  int64_t rows;
  int64_t width;
};

// result [rows, width] = update(matrix * dense)
template <class T>
void spmm_cpu(const CsrView<T>& matrix, const DenseView<T>& dense, T* result, const Update<T>& update = {});

// result [entries]: entry k at (i, j) gets scale * <left[i, :], right[j, :]>, or has it added
template <class T>
void sampled_products_cpu(const CsrView<T>& pattern, const T* left, const T* right, int64_t width, T* result,
                          T scale = 1, bool accumulate = false);

// A number, or one that a kernel makes of what the device has.
template <class T>
struct DeviceScale {
  T factor = 1;
  const T* times = nullptr;  // null: 1

  QW_BOTH T now() const { return times == nullptr ? factor : factor * *times; }
};

// Update on the device, and with a `total` the sum of a recurrence's terms that grows with each: total +=
// coefficients[1] * result, or with a `start` total = coefficients[0] * start + coefficients[1] * result and
// copy = start. All arrays are [rows, width].
template <class T>
struct DeviceUpdate {
  DeviceScale<T> scale;
  const T* first = nullptr;
  DeviceScale<T> first_scale;
  const T* second = nullptr;
  DeviceScale<T> second_scale;
  T* total = nullptr;
  const T* coefficients = nullptr;
  const T* start = nullptr;
  T* copy = nullptr;

  // Nothing but the product is wanted.
  bool is_none() const {
    return scale.factor == 1 && scale.times == nullptr && first == nullptr && second == nullptr &&
           total == nullptr;
  }
};

// Additions are in another order than the CPU's. One launch.
template <class T>
void spmm_cuda(const CsrView<T>& matrix, int64_t entries, const T* dense, int64_t width, T* result,
               const DeviceUpdate<T>& update, Stream stream);

// The sum over terms t = 0 .. terms - 1 of scale_t <left_t[i, :], right_t[j, :]>, where left_t and right_t
// follow each other in memory. Term 0 has `first_scale` and the others `scale`; the last one has `last_left`,
// unless that is null, in place of its left.
template <class T>
struct SampledTerms {
  const T* left;
  const T* right;
  int64_t left_size;  // of one left_t; likewise
  int64_t right_size;
  int64_t terms = 1;
  T first_scale = 1;
  T scale = 1;
  const T* last_left = nullptr;
  const T* last_times = nullptr;  // null, or on the device: the last term is multiplied with it
  bool accumulate = false;
};

template <class T>
void sampled_products_cuda(const CsrView<T>& pattern, int64_t entries, const SampledTerms<T>& sum,
                           int64_t width, T* result, Stream stream);

}  // namespace qw::kernels
