#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/dense_linear.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/dense_linear_parts.h"

namespace qw::ops {
namespace {

using at::Tensor;

// The left matrix is the large one: its rows must lie in one piece. The right one may lie anyhow.
Tensor with_whole_rows(const Tensor& matrix) {
  return matrix.size(1) <= 1 || matrix.stride(1) == 1 ? matrix : matrix.contiguous();
}

template <class T>
kernels::ProductView<T> view_of(const Tensor& left, const Tensor& right, int64_t rows, int64_t depth) {
  return {data_or_null<T>(left), left.stride(0), data_or_null<T>(right), right.stride(0),
          right.stride(1),       rows,           right.size(1),          depth};
}

Tensor product_cuda(const Tensor& left, const Tensor& right) {
  const c10::DeviceGuard device(left.device());
  const Tensor from = with_whole_rows(left);
  Tensor result = at::empty({left.size(0), right.size(1)}, left.options());
  count(2 * left.numel() * right.size(1), left, right, result);
  AT_DISPATCH_FLOATING_TYPES(left.scalar_type(), "qw::blocked_product", [&] {
    kernels::product_cuda<scalar_t>(view_of<scalar_t>(from, right, left.size(0), left.size(1)),
                                    data_or_null<scalar_t>(result), current_stream());
  });
  return result;
}

Tensor transposed_product_cuda(const Tensor& left, const Tensor& right) {
  const c10::DeviceGuard device(left.device());
  const Tensor from = with_whole_rows(left);
  Tensor result = at::empty({left.size(1), right.size(1)}, left.options());
  count(2 * left.numel() * right.size(1), left, right, result);
  AT_DISPATCH_FLOATING_TYPES(left.scalar_type(), "qw::blocked_transposed_product", [&] {
    const int64_t chunks =
        kernels::transposed_product_chunks<scalar_t>(left.size(1), right.size(1), left.size(0));
    const Tensor sums = at::empty({chunks == 1 ? 0 : chunks * result.numel()}, left.options());
    kernels::transposed_product_cuda<scalar_t>(view_of<scalar_t>(from, right, left.size(1), left.size(0)),
                                               data_or_null<scalar_t>(sums), data_or_null<scalar_t>(result),
                                               current_stream());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("blocked_product", product_cuda);
  library.impl("blocked_transposed_product", transposed_product_cuda);
}

}  // namespace qw::ops
