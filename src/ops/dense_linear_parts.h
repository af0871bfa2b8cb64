// The products that dense_linear and its gradients are made of, each an operator of its own with one backend
// per device.
#pragma once

#include <ATen/core/Tensor.h>

namespace qw::ops {

void check_dense_linear(const at::Tensor& x, const at::Tensor& weight);

// left [M, K] times right [K, N], with M rows in blocks.
at::Tensor blocked_product(const at::Tensor& left, const at::Tensor& right);

// The transpose of left [K, M] times right [K, N]: sums over the rows of both, in chunks.
at::Tensor blocked_transposed_product(const at::Tensor& left, const at::Tensor& right);

}  // namespace qw::ops
