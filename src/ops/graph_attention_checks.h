// What graph_attention and its gradient may be given.
#pragma once

#include "ops/graph_attention_parts.h"

namespace qw::ops {

// What AttentionOutputs::statistics has of every row and head.
enum AttentionStatistic : int64_t {
  kSourceScores,
  kTargetScores,
  kMaxima,  // of the softmax of each row
  kSums,
  kAttentionStatistics
};

// Throws unless shapes, types, devices, indices and options fit together.
void check_graph_attention(const char* op, const AttentionInputs& inputs);
void check_graph_attention_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    const at::Tensor& gradient, bool edge_weights_gradient);

}  // namespace qw::ops
