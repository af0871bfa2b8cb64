#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/spmm.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/spmm_parts.h"

namespace qw::ops {
namespace {

at::Tensor csr_matmul_cuda(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                           const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  check_csr_matmul(offsets, columns, order, values, dense, addend);
  const c10::DeviceGuard device(dense.device());
  const at::Tensor rows = dense.contiguous();
  const at::Tensor entries = values.contiguous();
  const at::Tensor added = addend.contiguous();
  const int64_t width = rows.size(1);
  at::Tensor result = at::empty({offsets.size(0) - 1, width}, rows.options());
  count(2 * columns.numel() * width, offsets, columns, order, entries, rows, added, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::csr_matmul", [&] {
    const kernels::CsrView<scalar_t> matrix{offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(),
                                            entries.data_ptr<scalar_t>(), data_or_null<int64_t>(order),
                                            offsets.size(0) - 1};
    kernels::DeviceUpdate<scalar_t> update;
    update.first = data_or_null<scalar_t>(added);
    kernels::spmm_cuda(matrix, columns.numel(), rows.data_ptr<scalar_t>(), width, result.data_ptr<scalar_t>(),
                       update, current_stream());
  });
  return result;
}

at::Tensor sampled_products_cuda(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                                 const at::Tensor& right) {
  check_sampled_products(offsets, columns, left, right);
  const c10::DeviceGuard device(left.device());
  const at::Tensor rows = left.contiguous();
  const at::Tensor others = right.contiguous();
  at::Tensor result = at::empty({columns.size(0)}, rows.options());
  count(2 * columns.numel() * rows.size(1), offsets, columns, rows, others, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::sampled_products", [&] {
    const kernels::CsrView<scalar_t> pattern{offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(),
                                             nullptr, nullptr, offsets.size(0) - 1};
    const kernels::SampledTerms<scalar_t> product{rows.data_ptr<scalar_t>(), others.data_ptr<scalar_t>(),
                                                  rows.numel(), others.numel()};
    kernels::sampled_products_cuda(pattern, columns.numel(), product, rows.size(1),
                                   result.data_ptr<scalar_t>(), current_stream());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("csr_matmul", csr_matmul_cuda);
  library.impl("sampled_products", sampled_products_cuda);
}

}  // namespace qw::ops
