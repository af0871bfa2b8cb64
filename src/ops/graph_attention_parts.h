// The gradient of graph_attention, an operator of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "qw/ops/graph_attention.h"

namespace qw::ops {

// Everything the operator is given.
struct AttentionInputs {
  SparsePattern pattern;
  at::Tensor features;
  at::Tensor attention_source;
  at::Tensor attention_target;
  at::Tensor edge_weights;
  GraphAttentionOptions options;
};

// What the forward pass leaves for the backward pass.
struct AttentionOutputs {
  at::Tensor result;      // [N, H * D]
  at::Tensor statistics;  // [4, N, H]: source scores, target scores, maxima and sums of the softmax
};

// The gradients of features, attention_source, attention_target and edge_weights; the last is [0] unless
// `edge_weights_gradient`.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward(
    const AttentionInputs& inputs, const AttentionOutputs& outputs, const at::Tensor& gradient,
    bool edge_weights_gradient);

}  // namespace qw::ops
