#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <dlfcn.h>
#include <omp.h>
#include <torch/library.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "ops/counted.h"
#include "ops/dense_linear_parts.h"
#include "qw/core/parallel.h"

namespace qw::ops {
namespace {

using at::Tensor;

constexpr int64_t kRowsPerBlock = 256;
constexpr int64_t kColumnsPerBlock = 128;
constexpr int64_t kRowsPerChunk = 1 << 16;   // whose sum is one product; more rows are added chunk by chunk
constexpr int64_t kFlopsPerBlock = 1 << 17;  // below it a block is not worth a thread

template <class Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// BLAS with threads of its own splits work by their number, and so does the rounding: it gets one, and blocks
// of a size that does not depend on the number of threads are ours to share out. OpenBLAS has one number for
// the whole process: the first call in sets it, the last call out restores it. Where OpenBLAS uses OpenMP,
// that number is also the calling thread's for OpenMP.
class OneOpenBlasThread {
 public:
  OneOpenBlasThread() {
    if (get_ == nullptr || set_ == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (calls_++ > 0) return;
    previous_ = get_();
    set(1);
  }
  OneOpenBlasThread(const OneOpenBlasThread&) = delete;
  OneOpenBlasThread& operator=(const OneOpenBlasThread&) = delete;
  ~OneOpenBlasThread() {
    if (get_ == nullptr || set_ == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--calls_ == 0) set(previous_);
  }

 private:
  static void set(int count) {
    const int of_openmp = omp_get_max_threads();
    set_(count);
    omp_set_num_threads(of_openmp);
  }

  inline static const auto get_ = loaded<int (*)()>("openblas_get_num_threads");
  inline static const auto set_ = loaded<void (*)(int)>("openblas_set_num_threads");
  inline static std::mutex mutex_;
  inline static int calls_ = 0;
  inline static int previous_ = 1;
};

// MKL has a number for each thread, where 0 stands for that of the process.
class OneMklThread {
 public:
  OneMklThread() : previous_(set_ == nullptr ? 0 : set_(1)) {}
  OneMklThread(const OneMklThread&) = delete;
  OneMklThread& operator=(const OneMklThread&) = delete;
  ~OneMklThread() {
    if (set_ != nullptr) set_(previous_);
  }

 private:
  inline static const auto set_ = loaded<int (*)(int)>("MKL_Set_Num_Threads_Local");
  int previous_;
};

int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }

Tensor block_of(const Tensor& matrix, int64_t dimension, int64_t index, int64_t block) {
  const int64_t begin = index * block;
  return matrix.narrow(dimension, begin, std::min(block, matrix.size(dimension) - begin));
}

void run_blocks(int64_t blocks, int64_t flops_per_block, const std::function<void(int64_t)>& product) {
  const OneOpenBlasThread one_thread_of_openblas;
  const int64_t grain = std::max<int64_t>(1, kFlopsPerBlock / std::max<int64_t>(1, flops_per_block));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    const OneMklThread one_thread_of_mkl;
    const at::AutoDispatchBelowADInplaceOrView
        below_autograd;  // and inference mode, which other threads lack
    for (int64_t block = begin; block < end; ++block) product(block);
  });
}

Tensor product_cpu(const Tensor& left, const Tensor& right) {
  Tensor result = at::empty({left.size(0), right.size(1)}, left.options());
  count(2 * left.numel() * right.size(1), left, right, result);
  const Tensor from = left.detach(), with = right.detach();
  run_blocks(blocks_of(left.size(0), kRowsPerBlock), 2 * kRowsPerBlock * right.numel(), [&](int64_t block) {
    Tensor rows = block_of(result, 0, block, kRowsPerBlock);
    at::mm_out(rows, block_of(from, 0, block, kRowsPerBlock), with);
  });
  return result;
}

Tensor transposed_product_cpu(const Tensor& left, const Tensor& right) {
  const int64_t chunks = std::max<int64_t>(1, blocks_of(left.size(0), kRowsPerChunk));
  const int64_t blocks = blocks_of(left.size(1), kColumnsPerBlock);
  Tensor sums = at::empty({chunks, left.size(1), right.size(1)}, left.options());
  Tensor result = sums[0];
  count(2 * left.numel() * right.size(1), left, right, result);
  const Tensor from = left.detach(), with = right.detach();
  const int64_t rows = std::min(left.size(0), kRowsPerChunk);
  run_blocks(chunks * blocks, 2 * rows * kColumnsPerBlock * right.size(1), [&](int64_t task) {
    const int64_t chunk = task / blocks, block = task % blocks;
    Tensor sum = block_of(sums[chunk], 0, block, kColumnsPerBlock);
    const Tensor columns = block_of(block_of(from, 0, chunk, kRowsPerChunk), 1, block, kColumnsPerBlock);
    at::mm_out(sum, columns.t(), block_of(with, 0, chunk, kRowsPerChunk));
  });
  for (int64_t chunk = 1; chunk < chunks; ++chunk) result.add_(sums[chunk]);
  return chunks == 1 ? result : result.clone();
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) {
  library.impl("blocked_product", product_cpu);
  library.impl("blocked_transposed_product", transposed_product_cpu);
}

}  // namespace qw::ops
