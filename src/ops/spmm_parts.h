// The two products that spmm and its gradients are made of, each an operator of its own with one backend per
// device, and what they require.
#pragma once

#include <ATen/core/Tensor.h>

namespace qw::ops {

// The sparse matrix (offsets, columns, values[order[k]] or, with an empty order, values[k]) times `dense`,
// plus `addend` unless that is [0] or undefined.
at::Tensor csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend = {});

// [entries]: <left[i, :], right[j, :]> for each entry (i, j).
at::Tensor sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right);

void check_spmm(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
                const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& values,
                const at::Tensor& dense);
void check_addend(const char* op, const at::Tensor& offsets, const at::Tensor& dense,
                  const at::Tensor& addend);
void check_csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend);
void check_sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right);

}  // namespace qw::ops
