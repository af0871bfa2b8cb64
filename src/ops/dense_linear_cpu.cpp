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

// Sizes of blocks follow from the sizes of the matrices alone.
constexpr int64_t kFewestRows = 256;         // of a block of a product
constexpr int64_t kFlopsPerBlock = 1 << 21;  // where that many rows are less work, more are taken
constexpr int64_t kColumnsPerBlock = 128;    // of a transposed product
constexpr int64_t kFewestRowsPerChunk = 1024;
constexpr int64_t kMostTasks = 32;            // of a transposed product, by chunks of rows
constexpr int64_t kFlopsPerThread = 1 << 17;  // below it another thread does not pay

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
  const int64_t grain = std::max<int64_t>(1, kFlopsPerThread / std::max<int64_t>(1, flops_per_block));
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
  const int64_t flops_per_row = 2 * std::max<int64_t>(1, right.numel());
  const int64_t blocks = blocks_of(left.size(0), std::max(kFewestRows, kFlopsPerBlock / flops_per_row));
  const int64_t size = blocks_of(left.size(0), std::max<int64_t>(1, blocks));  // of each: about the same
  run_blocks(blocks, size * flops_per_row, [&](int64_t block) {
    Tensor rows = block_of(result, 0, block, size);
    at::mm_out(rows, block_of(from, 0, block, size), with);
  });
  return result;
}

int64_t rows_per_chunk(int64_t rows, int64_t blocks) {
  const int64_t chunks = std::min(kMostTasks / std::max<int64_t>(1, blocks), rows / kFewestRowsPerChunk);
  return std::max<int64_t>(1, blocks_of(rows, std::max<int64_t>(1, chunks)));
}

// Rows are cut into chunks, and columns of the left into blocks; the chunks are added up in order.
Tensor transposed_product_cpu(const Tensor& left, const Tensor& right) {
  const int64_t blocks = blocks_of(left.size(1), kColumnsPerBlock);
  const int64_t size = rows_per_chunk(left.size(0), blocks);
  const int64_t chunks = std::max<int64_t>(1, blocks_of(left.size(0), size));
  Tensor sums = at::empty({chunks, left.size(1), right.size(1)}, left.options());
  Tensor result = sums[0];
  count(2 * left.numel() * right.size(1), left, right, result);
  const Tensor from = left.detach(), with = right.detach();
  run_blocks(chunks * blocks, 2 * size * kColumnsPerBlock * right.size(1), [&](int64_t task) {
    const int64_t chunk = task / blocks, block = task % blocks;
    Tensor sum = block_of(sums[chunk], 0, block, kColumnsPerBlock);
    const Tensor columns = block_of(block_of(from, 0, chunk, size), 1, block, kColumnsPerBlock);
    at::mm_out(sum, columns.t(), block_of(with, 0, chunk, size));
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
