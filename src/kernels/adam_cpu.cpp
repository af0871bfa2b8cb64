#include <algorithm>

#include "kernels/adam.h"
#include "kernels/adam_factors.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kChunksPerThread = 16;

template <class T>
inline __attribute__((always_inline)) void update(const AdamFactors<T>& f, const AdamTensor<T>& tensor,
                                                  int64_t begin, int64_t end) {
  T* __restrict parameter = tensor.parameter;
  const T* __restrict gradient = tensor.gradient;
  T* __restrict first = tensor.first_moment;
  T* __restrict second = tensor.second_moment;
  for (int64_t i = begin; i < end; ++i) adam_element(f, gradient[i], parameter[i], first[i], second[i]);
}

QW_MULTIVERSION void update_range(const AdamFactors<float>& factors, const AdamTensor<float>& tensor,
                                  int64_t begin, int64_t end) {
  update(factors, tensor, begin, end);
}

QW_MULTIVERSION void update_range(const AdamFactors<double>& factors, const AdamTensor<double>& tensor,
                                  int64_t begin, int64_t end) {
  update(factors, tensor, begin, end);
}

int64_t chunks_of(int64_t size) { return (size + kAdamChunk - 1) / kAdamChunk; }

}  // namespace

template <class T>
void adam_cpu(const AdamRule& rule, std::span<const AdamTensor<T>> tensors) {
  const AdamFactors<T> factors(rule);
  int64_t chunks = 0;
  for (const auto& tensor : tensors) chunks += chunks_of(tensor.size);
  parallel_for(chunks, kChunksPerThread, [&](int64_t begin, int64_t end) {
    int64_t first = 0;  // chunk of the first element of the tensor
    for (const auto& tensor : tensors) {
      const int64_t from = std::max(begin - first, int64_t{0}) * kAdamChunk;
      const int64_t to = std::min((end - first) * kAdamChunk, tensor.size);
      if (from < to) update_range(factors, tensor, from, to);
      first += chunks_of(tensor.size);
    }
  });
}

template void adam_cpu(const AdamRule&, std::span<const AdamTensor<float>>);
template void adam_cpu(const AdamRule&, std::span<const AdamTensor<double>>);

}  // namespace qw::kernels
