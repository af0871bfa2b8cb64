#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/spmm.h"
#include "ops/counted.h"
#include "ops/spmm_parts.h"

namespace qw::ops {
namespace {

at::Tensor csr_matmul_cpu(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                          const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  check_csr_matmul(offsets, columns, order, values, dense, addend);
  const at::Tensor rows = dense.contiguous();
  const at::Tensor entries = values.contiguous();
  const at::Tensor added = addend.contiguous();
  at::Tensor result = at::empty({offsets.size(0) - 1, rows.size(1)}, rows.options());
  count(2 * columns.numel() * rows.size(1), offsets, columns, order, entries, rows, added, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::csr_matmul", [&] {
    const kernels::CsrView<scalar_t> matrix{
        offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(), entries.data_ptr<scalar_t>(),
        order.numel() == 0 ? nullptr : order.data_ptr<int64_t>(), offsets.size(0) - 1};
    kernels::Update<scalar_t> update;
    if (added.numel() != 0) {
      update.first = added.data_ptr<scalar_t>();
      update.first_scale = 1;
    }
    kernels::spmm_cpu(matrix, rows.data_ptr<scalar_t>(), rows.size(1), result.data_ptr<scalar_t>(), update);
  });
  return result;
}

at::Tensor sampled_products_cpu(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                                const at::Tensor& right) {
  check_sampled_products(offsets, columns, left, right);
  const at::Tensor rows = left.contiguous();
  const at::Tensor others = right.contiguous();
  at::Tensor result = at::empty({columns.size(0)}, rows.options());
  count(2 * columns.numel() * rows.size(1), offsets, columns, rows, others, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::sampled_products", [&] {
    const kernels::CsrView<scalar_t> pattern{offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(),
                                             nullptr, nullptr, offsets.size(0) - 1};
    kernels::sampled_products_cpu(pattern, rows.data_ptr<scalar_t>(), others.data_ptr<scalar_t>(),
                                  rows.size(1), result.data_ptr<scalar_t>());
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) {
  library.impl("csr_matmul", csr_matmul_cpu);
  library.impl("sampled_products", sampled_products_cpu);
}

}  // namespace qw::ops
