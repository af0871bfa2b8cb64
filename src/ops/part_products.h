// Products with one part of a larger matrix: rows of other parts that columns name are brought first, in the
// backward pass too.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/graph_attention.h"
#include "qw/ops/spmm.h"

namespace qw::ops {

// Own rows [R, C] and behind them those of others; its gradient goes back to their owners.
at::Tensor beside(const SparsePattern& pattern, const at::Tensor& own);

// spmm(), chebyshev_filter() and graph_attention() of a pattern with `others`.
at::Tensor part_product(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense,
                        const at::Tensor& addend);
at::Tensor part_filter(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& coefficients,
                       const at::Tensor& x);
at::Tensor part_attention(const SparsePattern& pattern, const at::Tensor& features,
                          const at::Tensor& attention_source, const at::Tensor& attention_target,
                          const at::Tensor& edge_weights, const GraphAttentionOptions& options);

}  // namespace qw::ops
