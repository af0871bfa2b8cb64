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
  at::Tensor attention_source;
  at::Tensor attention_target;
  at::Tensor edge_weights;
  GraphAttentionOptions options;
};

enum AttentionStatistic : int64_t {
  kSourceScores,
  kTargetScores,
  kMaxima,  // of the softmax of each row
  kSums,
  kAttentionStatistics
};

// What the forward pass leaves for the backward pass: its result [N, H * D] and the statistics
// [kAttentionStatistics, N, H].
struct AttentionOutputs {
  at::Tensor result;
  at::Tensor statistics;
};

AttentionOutputs graph_attention_forward(const AttentionInputs& inputs);

// The gradients of features, attention_source, attention_target and edge_weights; the last is [0] unless
// `edge_weights_gradient`.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward(
    const AttentionInputs& inputs, const AttentionOutputs& outputs, const at::Tensor& gradient,
    bool edge_weights_gradient);

void check_graph_attention(const char* op, const AttentionInputs& inputs);
void check_graph_attention_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    const at::Tensor& gradient, bool edge_weights_gradient);

}  // namespace qw::ops
