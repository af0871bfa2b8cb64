// The two products that spmm and its gradients are made of, each an operator of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/spmm.h"

namespace qw::ops {

// The sparse matrix (offsets, columns, values[order[k]] or, with an empty order, values[k]) times `dense`,
// plus `addend` unless that is [0] or undefined.
at::Tensor csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend = {});

// [entries]: <left[i, :], right[j, :]> for each entry (i, j).
at::Tensor sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right);

// What spmm requires but of its addend.
void check_spmm(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense);

}  // namespace qw::ops
