#include <algorithm>
#include <cmath>

#include "kernels/dropout.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kBatchesPerThread = 64;  // 8192 elements are worth a thread

template <class T>
QW_INLINE void batches(const DropoutRule& rule, uint32_t threshold, int64_t begin, int64_t end,
                       const T* values, int64_t size, T* result) {
  const T scale = static_cast<T>(1.0 / (1.0 - rule.p));
  uint32_t bits[kDropoutBatch];
  for (int64_t batch = begin; batch < end; ++batch) {
    dropout_bits(rule, static_cast<uint64_t>(batch), bits);
    const int64_t first = batch * kDropoutBatch;
    if (first + kDropoutBatch <= size) {
      for (int i = 0; i < kDropoutBatch; ++i)
        result[first + i] = kept(values[first + i], scale, bits[i], threshold);
    } else {
      for (int64_t i = first; i < size; ++i) result[i] = kept(values[i], scale, bits[i - first], threshold);
    }
  }
}

QW_MULTIVERSION void batch_range(const DropoutRule& rule, uint32_t threshold, int64_t begin, int64_t end,
                                 const float* values, int64_t size, float* result) {
  batches(rule, threshold, begin, end, values, size, result);
}

QW_MULTIVERSION void batch_range(const DropoutRule& rule, uint32_t threshold, int64_t begin, int64_t end,
                                 const double* values, int64_t size, double* result) {
  batches(rule, threshold, begin, end, values, size, result);
}

// Elements first, first + 1, ... of a list, whose random bits begin within a block of four.
template <class T>
QW_INLINE void row_of_list(const DropoutRule& rule, uint32_t threshold, uint64_t first, int64_t count,
                           const T* values, T* result) {
  const T scale = static_cast<T>(1.0 / (1.0 - rule.p));
  uint32_t words[4][kDropoutBlocks], bits[kDropoutBatch];
  for (int64_t done = 0; done < count;) {
    const uint64_t element = first + static_cast<uint64_t>(done), block = element / 4;
    const auto skipped = static_cast<int64_t>(element % 4);
    const int64_t blocks = std::min<int64_t>(kDropoutBlocks, (count - done + skipped + 3) / 4);
    for (int64_t k = 0; k < blocks; ++k) {
      const uint64_t counter = block + static_cast<uint64_t>(k);
      words[0][k] = static_cast<uint32_t>(counter);
      words[1][k] = static_cast<uint32_t>(counter >> 32);
      words[2][k] = rule.layer;
      words[3][k] = rule.epoch;
    }
    philox_batch(words, blocks, rule.seed);
    for (int64_t k = 0; k < blocks; ++k) {
      for (int lane = 0; lane < 4; ++lane) bits[4 * k + lane] = words[lane][k];
    }
    const int64_t served = std::min(count - done, 4 * blocks - skipped);
    const uint32_t* own = bits + skipped;
    for (int64_t i = 0; i < served; ++i) result[done + i] = kept(values[done + i], scale, own[i], threshold);
    done += served;
  }
}

QW_MULTIVERSION void row_range(const DropoutRule& rule, uint32_t threshold, const int64_t* begins,
                               const int64_t* firsts, int64_t begin, int64_t end, const float* values,
                               float* result) {
  for (int64_t row = begin; row < end; ++row) {
    row_of_list(rule, threshold, static_cast<uint64_t>(firsts[row]), begins[row + 1] - begins[row],
                values + begins[row], result + begins[row]);
  }
}

QW_MULTIVERSION void row_range(const DropoutRule& rule, uint32_t threshold, const int64_t* begins,
                               const int64_t* firsts, int64_t begin, int64_t end, const double* values,
                               double* result) {
  for (int64_t row = begin; row < end; ++row) {
    row_of_list(rule, threshold, static_cast<uint64_t>(firsts[row]), begins[row + 1] - begins[row],
                values + begins[row], result + begins[row]);
  }
}

}  // namespace

template <class T>
void dropout_rows_cpu(const DropoutRule& rule, const int64_t* begins, const int64_t* firsts, int64_t rows,
                      const T* values, T* result) {
  const uint64_t threshold = dropout_threshold(rule.p);
  if (threshold > UINT32_MAX) return std::fill(result + begins[0], result + begins[rows], T{0});
  parallel_rows({begins, static_cast<size_t>(rows) + 1}, kBatchesPerThread * kDropoutBatch,
                [&](int64_t begin, int64_t end) {
                  row_range(rule, static_cast<uint32_t>(threshold), begins, firsts, begin, end, values,
                            result);
                });
}

template void dropout_rows_cpu(const DropoutRule&, const int64_t*, const int64_t*, int64_t, const float*,
                               float*);
template void dropout_rows_cpu(const DropoutRule&, const int64_t*, const int64_t*, int64_t, const double*,
                               double*);

template <class T>
void dropout_cpu(const DropoutRule& rule, const T* values, int64_t size, T* result) {
  const uint64_t threshold = dropout_threshold(rule.p);
  if (threshold > UINT32_MAX) {
    std::fill(result, result + size, T{0});
    return;
  }
  parallel_for((size + kDropoutBatch - 1) / kDropoutBatch, kBatchesPerThread,
               [&](int64_t begin, int64_t end) {
                 batch_range(rule, static_cast<uint32_t>(threshold), begin, end, values, size, result);
               });
}

template void dropout_cpu(const DropoutRule&, const float*, int64_t, float*);
template void dropout_cpu(const DropoutRule&, const double*, int64_t, double*);

}  // namespace qw::kernels
