#include <algorithm>
#include <vector>

#include "kernels/combination.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr int64_t kBlock = 1 << 12;

template <class T>
QW_INLINE void combine(const T* stack, const T* coefficients, int64_t count, int64_t n, int64_t begin,
                       int64_t end, T* result) {
  // Blocks that stay in the first-level cache while all K arrays are added to them.
  for (int64_t block = begin; block < end; block += kBlock) {
    const int64_t stop = std::min(end, block + kBlock);
    for (int64_t i = block; i < stop; ++i) result[i] = coefficients[0] * stack[i];
    for (int64_t k = 1; k < count; ++k) {
      const T* array = stack + k * n;
      for (int64_t i = block; i < stop; ++i) result[i] += coefficients[k] * array[i];
    }
  }
}

template <class T>
QW_INLINE double block_product(const T* a, const T* b, int64_t size) {
  constexpr int kSums = 8;
  double sum[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (int lane = 0; lane < kSums; ++lane)
      sum[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  }
  for (; i < size; ++i) sum[i % kSums] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

QW_MULTIVERSION void combine_range(const float* stack, const float* coefficients, int64_t count, int64_t n,
                                   int64_t begin, int64_t end, float* result) {
  combine(stack, coefficients, count, n, begin, end, result);
}

QW_MULTIVERSION void combine_range(const double* stack, const double* coefficients, int64_t count, int64_t n,
                                   int64_t begin, int64_t end, double* result) {
  combine(stack, coefficients, count, n, begin, end, result);
}

QW_MULTIVERSION double product(const float* a, const float* b, int64_t size) {
  return block_product(a, b, size);
}
QW_MULTIVERSION double product(const double* a, const double* b, int64_t size) {
  return block_product(a, b, size);
}

}  // namespace

template <class T>
void linear_combination_cpu(const T* stack, const T* coefficients, int64_t count, int64_t n, T* result) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    combine_range(stack, coefficients, count, n, begin, end, result);
  });
}

template <class T>
void dot_products_cpu(const T* stack, const T* other, int64_t count, int64_t n, T* result) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> partial(count * blocks);
  const int64_t grain = kGrain / std::clamp<int64_t>(n, 1, kBlock);
  parallel_for(count * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % blocks * kBlock;
      partial[task] = product(stack + task / blocks * n + first, other + first, std::min(kBlock, n - first));
    }
  });
  for (int64_t k = 0; k < count; ++k) {
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block) sum += partial[k * blocks + block];
    result[k] = static_cast<T>(sum);
  }
}

template void linear_combination_cpu(const float*, const float*, int64_t, int64_t, float*);
template void linear_combination_cpu(const double*, const double*, int64_t, int64_t, double*);
template void dot_products_cpu(const float*, const float*, int64_t, int64_t, float*);
template void dot_products_cpu(const double*, const double*, int64_t, int64_t, double*);

}  // namespace qw::kernels
