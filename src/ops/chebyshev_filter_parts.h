// Forward and backward of the filter, each an operator with one backend per device, and what they require.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "qw/ops/spmm.h"

namespace qw::ops {

// The terms T_k(M) x, stacked [K + 1, N, C], and their combination [N, C].
std::tuple<at::Tensor, at::Tensor> chebyshev_forward(const SparsePattern& pattern, const at::Tensor& values,
                                                     const at::Tensor& coefficients, const at::Tensor& x);

// Gradients for values (empty unless asked for), coefficients and x.
std::tuple<at::Tensor, at::Tensor, at::Tensor> chebyshev_backward(
    const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& coefficients,
    const at::Tensor& terms, const at::Tensor& gradient, bool values_need_gradient);

void check_chebyshev_filter(const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& coefficients, const at::Tensor& x);

}  // namespace qw::ops
