// The two passes that graph_attention and its gradient are made of, each an operator of its own with one
// backend per device, and what they require.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "qw/ops/graph_attention.h"

namespace qw::ops {

// Everything the operator is given.
struct AttentionInputs {
  SparsePattern pattern;
  at::Tensor features;
  at::Tensor source_scores;
  at::Tensor target_scores;
  at::Tensor edge_weights;
  GraphAttentionOptions options;
};

// What the forward pass leaves for the backward pass: its result [N, H * D] and the softmax's maximum and sum
// [N, H].
struct AttentionOutputs {
  at::Tensor result;
  at::Tensor maximum;
  at::Tensor sum;
};

AttentionOutputs graph_attention_forward(const AttentionInputs& inputs);

// The gradients of features, source_scores, target_scores and edge_weights; the last is [0] unless
// `edge_weights_gradient`.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward(
    const AttentionInputs& inputs, const AttentionOutputs& outputs, const at::Tensor& gradient,
    bool edge_weights_gradient);

void check_graph_attention(const char* op, const AttentionInputs& inputs);
void check_graph_attention_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    const at::Tensor& gradient, bool edge_weights_gradient);

}  // namespace qw::ops
