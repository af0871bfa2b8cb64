#include "kernels/combination.h"

#include "kernels/row_teams.cuh"

namespace qw::kernels {
namespace {

template <class T>
struct LinearCombination {
  static constexpr int kThreads = 256;
  const T* stack;
  const T* coefficients;
  int64_t count;
  int64_t n;
  T* result;

  __device__ void operator()() const {
    const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
    if (i >= n) return;
    T sum = coefficients[0] * stack[i];
#pragma unroll 4
    for (int64_t k = 1; k < count; ++k) sum += coefficients[k] * stack[k * n + i];
    result[i] = sum;
  }
};

// One array's chunk per block. In one chunk the sum is the result; in several it is partial.
template <class T>
struct DotProducts {
  static constexpr int kThreads = kTeamThreads;
  const T* stack;
  const T* other;
  int64_t n;
  int64_t chunk;
  int64_t chunks;
  T* result;
  double* partial;  // [count, chunks]

  __device__ void operator()() const {
    const int64_t k = blockIdx.x / chunks;
    const int64_t first = blockIdx.x % chunks * chunk;
    const int64_t past = std::min(n, first + chunk);
    constexpr int kSums = 4;  // one alone would wait for each addition
    double sums[kSums] = {};
    const T* array = stack + k * n;
    for (int64_t i = first + threadIdx.x; i < past; i += kSums * kThreads) {
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
        const int64_t at = i + s * kThreads;
        if (at < past) sums[s] += static_cast<double>(array[at]) * static_cast<double>(other[at]);
      }
    }
    const double sum =
        team_sum(BlockTeam{static_cast<int>(threadIdx.x)}, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (threadIdx.x != 0) return;
    if (chunks == 1) {
      result[k] = static_cast<T>(sum);
    } else {
      partial[blockIdx.x] = sum;
    }
  }
};

template <class T>
struct SumOfChunks {
  static constexpr int kThreads = kTeamThreads;
  const double* partial;
  int64_t chunks;
  T* result;

  __device__ void operator()() const {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < chunks; i += kThreads) sum += partial[blockIdx.x * chunks + i];
    sum = team_sum(BlockTeam{static_cast<int>(threadIdx.x)}, sum);
    if (threadIdx.x == 0) result[blockIdx.x] = static_cast<T>(sum);
  }
};

// Numbers of an array that one block adds: what is not much is not worth a second launch.
int64_t numbers_per_block(int64_t n) {
  constexpr int64_t kAlone = 1 << 15, kLeast = 1 << 13, kMostBlocks = 2048;
  if (n <= kAlone) return std::max<int64_t>(1, n);
  return std::max(kLeast, blocks_for(n, kMostBlocks));
}

}  // namespace

template <class T>
void linear_combination_cuda(const T* stack, const T* coefficients, int64_t count, int64_t n, T* result,
                             Stream stream) {
  using Task = LinearCombination<T>;
  launch(Task{stack, coefficients, count, n, result}, blocks_for(n, Task::kThreads), stream);
}

int64_t dot_products_scratch(int64_t count, int64_t n) {
  const int64_t chunks = blocks_for(n, numbers_per_block(n));
  return chunks <= 1 ? 0 : count * chunks;
}

template <class T>
void dot_products_cuda(const T* stack, const T* other, int64_t count, int64_t n, T* result, double* scratch,
                       Stream stream) {
  const int64_t chunk = numbers_per_block(n);
  const int64_t chunks = std::max<int64_t>(1, blocks_for(n, chunk));
  launch(DotProducts<T>{stack, other, n, chunk, chunks, result, scratch}, count * chunks, stream);
  if (chunks > 1) launch(SumOfChunks<T>{scratch, chunks, result}, count, stream);
}

template void linear_combination_cuda(const float*, const float*, int64_t, int64_t, float*, Stream);
template void linear_combination_cuda(const double*, const double*, int64_t, int64_t, double*, Stream);
template void dot_products_cuda(const float*, const float*, int64_t, int64_t, float*, double*, Stream);
template void dot_products_cuda(const double*, const double*, int64_t, int64_t, double*, double*, Stream);

}  // namespace qw::kernels
