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

}  // namespace

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
