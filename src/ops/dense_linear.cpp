#include "qw/ops/dense_linear.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>
#include <omp.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "kernels/dense_linear.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"
#include "qw/core/parallel.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

void check_dense_linear(const Tensor& x, const Tensor& weight) {
  constexpr const char* kOp = "qw::dense_linear";
  TORCH_CHECK(x.dim() == 2, kOp, ": x must be [N, in], got ", x.sizes());
  check_matrix(kOp, "x", x, x.size(0), "node");
  TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(1) && weight.scalar_type() == x.scalar_type() &&
                  weight.device() == x.device(),
              kOp, ": weight must be [out, ", x.size(1), "] of ", x.scalar_type(), " on ", x.device(),
              ", got ", weight.sizes(), " of ", weight.scalar_type(), " on ", weight.device());
}

// Sizes of blocks follow from the sizes of the matrices alone.
constexpr int64_t kFewestRows = 512;         // of a block of a product
constexpr int64_t kFlopsPerBlock = 1 << 21;  // where that many rows are less work, more are taken
constexpr int64_t kColumnsPerBlock = 256;    // of a transposed product
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
  const auto range = [&](int64_t begin, int64_t end) {
    const OneMklThread one_thread_of_mkl;
    const at::AutoDispatchBelowADInplaceOrView
        below_autograd;  // and inference mode, which other threads lack
    for (int64_t block = begin; block < end; ++block) product(block);
  };
  if (flops_per_block >= kFlopsPerThread)
    return parallel_tasks(static_cast<int>(blocks), [&](int block) { range(block, block + 1); });
  parallel_for(blocks, kFlopsPerThread / std::max<int64_t>(1, flops_per_block), range);
}

void product_on_cpu(const Tensor& left, const Tensor& right, const Tensor& result) {
  const Tensor from = left.detach(), with = right.detach();
  const int64_t flops_per_row = 2 * std::max<int64_t>(1, right.numel());
  const int64_t blocks = blocks_of(left.size(0), std::max(kFewestRows, kFlopsPerBlock / flops_per_row));
  const int64_t size = blocks_of(left.size(0), std::max<int64_t>(1, blocks));  // of each: about the same
  run_blocks(blocks, size * flops_per_row, [&](int64_t block) {
    Tensor rows = block_of(result, 0, block, size);
    at::mm_out(rows, block_of(from, 0, block, size), with);
  });
}

int64_t rows_per_chunk(int64_t rows, int64_t blocks) {
  const int64_t chunks = std::min(kMostTasks / std::max<int64_t>(1, blocks), rows / kFewestRowsPerChunk);
  return std::max<int64_t>(1, blocks_of(rows, std::max<int64_t>(1, chunks)));
}

// Rows are cut into chunks, and columns of the left into blocks; the chunks are added up in order. BLAS makes
// the transpose of the result, which is a seventh faster for a left that is the wider one.
Tensor transposed_product_on_cpu(const Tensor& left, const Tensor& right) {
  const int64_t blocks = blocks_of(left.size(1), kColumnsPerBlock);
  const int64_t size = rows_per_chunk(left.size(0), blocks);
  const int64_t chunks = std::max<int64_t>(1, blocks_of(left.size(0), size));
  const Tensor sums = at::empty({chunks, right.size(1), left.size(1)}, left.options());
  const Tensor from = left.detach(), with = right.detach();
  run_blocks(chunks * blocks, 2 * size * kColumnsPerBlock * right.size(1), [&](int64_t task) {
    const int64_t chunk = task / blocks, block = task % blocks;
    Tensor sum = block_of(sums[chunk], 1, block, kColumnsPerBlock);
    const Tensor columns = block_of(block_of(from, 0, chunk, size), 1, block, kColumnsPerBlock);
    at::mm_out(sum, block_of(with, 0, chunk, size).t(), columns);
  });
  Tensor sum = sums[0];
  for (int64_t chunk = 1; chunk < chunks; ++chunk) sum.add_(sums[chunk]);
  return sum.t().contiguous();
}

// On a GPU the left matrix, the large one, must have rows in one piece. The right one may lie anyhow.
Tensor with_whole_rows(const Tensor& matrix) {
  return matrix.size(1) <= 1 || matrix.stride(1) == 1 ? matrix : matrix.contiguous();
}

template <class T>
kernels::ProductView<T> view_of(const Tensor& left, const Tensor& right, int64_t rows, int64_t depth) {
  return {data_or_null<T>(left), left.stride(0), data_or_null<T>(right), right.stride(0),
          right.stride(1),       rows,           right.size(1),          depth};
}

void check_factors(const char* op, const Tensor& left, const Tensor& right, int64_t dimension) {
  TORCH_CHECK(left.dim() == 2, op, ": left must be a matrix, got ", left.sizes());
  check_matrix(op, "left", left, left.size(0), "row");
  TORCH_CHECK(right.dim() == 2 && right.size(0) == left.size(dimension) &&
                  right.scalar_type() == left.scalar_type() && right.device() == left.device(),
              op, ": right must be [", left.size(dimension), ", N] of ", left.scalar_type(), " on ",
              left.device(), ", got ", right.sizes(), " of ", right.scalar_type(), " on ", right.device());
}

// left [M, K] times right [K, N], with M rows in blocks.
Tensor blocked_product_backend(const Tensor& left, const Tensor& right) {
  check_factors("qw::_blocked_product", left, right, 1);
  Tensor result = at::empty({left.size(0), right.size(1)}, left.options());
  record_work(2 * left.numel() * right.size(1), left, right, result);
  run_on(
      left, [&] { product_on_cpu(left, right, result); },
      [&](auto stream) {
        const Tensor from = with_whole_rows(left);
        AT_DISPATCH_FLOATING_TYPES(left.scalar_type(), "qw::_blocked_product", [&] {
          kernels::product_cuda<scalar_t>(view_of<scalar_t>(from, right, left.size(0), left.size(1)),
                                          data_or_null<scalar_t>(result), stream);
        });
      });
  return result;
}

// The transpose of left [K, M] times right [K, N]: sums over the rows of both, in chunks.
Tensor blocked_transposed_product_backend(const Tensor& left, const Tensor& right) {
  check_factors("qw::_blocked_transposed_product", left, right, 0);
  Tensor result;
  run_on(
      left, [&] { result = transposed_product_on_cpu(left, right); },
      [&](auto stream) {
        const Tensor from = with_whole_rows(left);
        result = at::empty({left.size(1), right.size(1)}, left.options());
        AT_DISPATCH_FLOATING_TYPES(left.scalar_type(), "qw::_blocked_transposed_product", [&] {
          const int64_t chunks =
              kernels::transposed_product_chunks<scalar_t>(left.size(1), right.size(1), left.size(0));
          const Tensor sums = at::empty({chunks == 1 ? 0 : chunks * result.numel()}, left.options());
          kernels::transposed_product_cuda<scalar_t>(
              view_of<scalar_t>(from, right, left.size(1), left.size(0)), data_or_null<scalar_t>(sums),
              data_or_null<scalar_t>(result), stream);
        });
      });
  record_work(2 * left.numel() * right.size(1), left, right, result);
  return result;
}

Tensor blocked_product_meta(const Tensor& left, const Tensor& right) {
  return at::empty_symint({left.sym_size(0), right.sym_size(1)}, left.options());
}

Tensor blocked_transposed_product_meta(const Tensor& left, const Tensor& right) {
  return at::empty_symint({left.sym_size(1), right.sym_size(1)}, left.options());
}

Tensor dense_linear_backend(const Tensor& x, const Tensor& weight) {
  check_dense_linear(x, weight);
  return blocked_product_backend(x, weight.t());
}

Tensor dense_linear_meta(const Tensor& x, const Tensor& weight) {
  if (have_numbers(x, weight)) check_dense_linear(x, weight);
  return at::empty_symint({x.sym_size(0), weight.sym_size(0)}, x.options());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = X W^T:  dL/dX = G W,  dL/dW = (X^T G)^T, with G = dL/dY. The transposed form leaves the gradient of W
// in the memory order of a weight whose transpose is row-major, as ParameterSet keeps them.
class DenseLinear : public torch::autograd::Function<DenseLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["x_needs_gradient"] = x.requires_grad();
    context->saved_data["weight_needs_gradient"] = weight.requires_grad();
    context->save_for_backward(
        {weight.requires_grad() ? x : at::Tensor(), x.requires_grad() ? weight : at::Tensor()});
    return dense_linear(x, weight);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::dense_linear: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    at::Tensor x_gradient, weight_gradient;
    if (context->saved_data["x_needs_gradient"].toBool()) {
      x_gradient =
          call_without_gradient<blocked_product_backend>("qw::_blocked_product", gradients[0], saved[1]);
    }
    if (context->saved_data["weight_needs_gradient"].toBool()) {
      weight_gradient = call_without_gradient<blocked_transposed_product_backend>(
                            "qw::_blocked_transposed_product", saved[0], gradients[0])
                            .t();
    }
    return {x_gradient, weight_gradient};
  }
};

at::Tensor dense_linear_autograd(const at::Tensor& x, const at::Tensor& weight) {
  return DenseLinear::apply(x, weight);
}

}  // namespace

QW_BACKENDS(library) {
  library.impl("dense_linear", dense_linear_backend);
  library.impl("_blocked_product", blocked_product_backend);
  library.impl("_blocked_transposed_product", blocked_transposed_product_backend);
}

QW_META(library) {
  library.impl("dense_linear", dense_linear_meta);
  library.impl("_blocked_product", blocked_product_meta);
  library.impl("_blocked_transposed_product", blocked_transposed_product_meta);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("dense_linear", dense_linear_autograd); }

QW_NO_GRADIENT("_blocked_product", "_blocked_transposed_product")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("dense_linear(Tensor x, Tensor weight) -> Tensor");
  library.def("_blocked_product(Tensor left, Tensor right) -> Tensor");
  library.def("_blocked_transposed_product(Tensor left, Tensor right) -> Tensor");
}

}  // namespace ops

at::Tensor dense_linear(const at::Tensor& x, const at::Tensor& weight) {
  return ops::call<ops::dense_linear_backend>("qw::dense_linear", x, weight);
}

}  // namespace qw
