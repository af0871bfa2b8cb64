#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <algorithm>

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

// BLAS with threads of its own splits work by their number, and so does the rounding: it gets one, and blocks
// of a size that does not depend on the number of threads are ours to share out. OpenBLAS is told so by name;
// other libraries run on one thread inside a parallel region anyway.
class OneBlasThread {
 public:
  OneBlasThread() : previous_(get_ == nullptr ? 0 : get_()) {
    if (previous_ > 1) set_(1);
  }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
  ~OneBlasThread() {
    if (previous_ > 1) set_(previous_);
  }

 private:
  using Get = int (*)();
  using Set = void (*)(int);
  inline static const Get get_ = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  inline static const Set set_ = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  int previous_;
};

int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }

Tensor block_of(const Tensor& matrix, int64_t dimension, int64_t index, int64_t block) {
  const int64_t begin = index * block;
  return matrix.narrow(dimension, begin, std::min(block, matrix.size(dimension) - begin));
}

void run_blocks(int64_t blocks, int64_t flops_per_block, const std::function<void(int64_t)>& product) {
  const OneBlasThread one_thread;
  const int64_t grain = std::max<int64_t>(1, kFlopsPerBlock / std::max<int64_t>(1, flops_per_block));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_gradient;
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
