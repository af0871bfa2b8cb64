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

QW_MULTIVERSION void mask_row(const DropoutRule& rule, uint32_t threshold, uint64_t first, uint64_t end,
                              bool* mask) {
  uint32_t words[4][kDropoutBlocks];
  for (uint64_t block = first / 4; 4 * block < end; block += kDropoutBlocks) {
    const auto blocks = static_cast<int64_t>(std::min<uint64_t>(kDropoutBlocks, (end + 3) / 4 - block));
    for (int64_t k = 0; k < blocks; ++k) {
      const uint64_t counter = block + static_cast<uint64_t>(k);
      words[0][k] = static_cast<uint32_t>(counter);
      words[1][k] = static_cast<uint32_t>(counter >> 32);
      words[2][k] = rule.layer;
      words[3][k] = rule.epoch;
    }
    philox_batch(words, blocks, rule.seed);
    const uint64_t last = std::min(end, 4 * (block + static_cast<uint64_t>(blocks)));
    for (uint64_t i = std::max(first, 4 * block); i < last; ++i)
      mask[i - first] = words[i % 4][i / 4 - block] >= threshold;
  }
}

}  // namespace

void dropout_mask_cpu(const DropoutRule& rule, const int64_t* begins, const int64_t* firsts, int64_t rows,
                      bool* mask) {
  const uint64_t threshold = dropout_threshold(rule.p);
  if (threshold > UINT32_MAX) return std::fill(mask + begins[0], mask + begins[rows], false);
  const int64_t per_row = std::max<int64_t>(1, (begins[rows] - begins[0]) / std::max<int64_t>(1, rows));
  parallel_for(rows, std::max<int64_t>(1, kBatchesPerThread * kDropoutBatch / per_row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const auto first = static_cast<uint64_t>(firsts[row]);
                   const auto count = static_cast<uint64_t>(begins[row + 1] - begins[row]);
                   mask_row(rule, static_cast<uint32_t>(threshold), first, first + count, mask + begins[row]);
                 }
               });
}

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
