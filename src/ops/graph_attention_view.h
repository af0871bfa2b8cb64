// The inputs of graph attention as its kernels take them.
#pragma once

#include "kernels/dropout.h"
#include "kernels/graph_attention.h"
#include "kernels/head_scores.h"
#include "ops/graph_attention_parts.h"

namespace qw::ops {

inline AttentionInputs contiguous(const AttentionInputs& inputs) {
  return {inputs.pattern,
          inputs.features.contiguous(),
          inputs.attention_source.contiguous(),
          inputs.attention_target.contiguous(),
          inputs.edge_weights.contiguous(),
          inputs.options};
}

template <class T>
kernels::AttentionDropout<T> dropout_of(const GraphAttentionOptions& options) {
  return {options.dropout > 0,
          static_cast<uint32_t>(kernels::dropout_threshold(options.dropout) - 1),
          static_cast<T>(1.0 / (1.0 - options.dropout)),
          static_cast<uint64_t>(options.seed),
          static_cast<uint32_t>(options.layer),
          static_cast<uint32_t>(options.epoch)};
}

template <class T>
kernels::HeadFeatures<T> head_features(const AttentionInputs& inputs) {
  const at::Tensor& attention = inputs.attention_source;
  return {inputs.features.size(0),       attention.size(1),       attention.size(2),
          inputs.features.data_ptr<T>(), attention.data_ptr<T>(), inputs.attention_target.data_ptr<T>()};
}

// One of the AttentionStatistic, [N, H].
template <class T>
T* statistic_of(const at::Tensor& statistics, int64_t which) {
  return statistics.data_ptr<T>() + which * statistics.size(1) * statistics.size(2);
}

// The pattern, whose entries are in the order of the weights, or its transpose. The tensors must be
// contiguous.
template <class T>
kernels::AttentionView<T> view_of(const AttentionInputs& inputs, const at::Tensor& statistics,
                                  bool transposed) {
  const SparsePattern& pattern = inputs.pattern;
  const at::Tensor& offsets = transposed ? pattern.transposed_offsets : pattern.offsets;
  const at::Tensor& columns = transposed ? pattern.transposed_columns : pattern.columns;
  return {offsets.data_ptr<int64_t>(),
          columns.data_ptr<int32_t>(),
          transposed ? pattern.order.data_ptr<int64_t>() : nullptr,
          offsets.size(0) - 1,
          inputs.attention_source.size(1),
          inputs.attention_source.size(2),
          inputs.features.data_ptr<T>(),
          statistic_of<T>(statistics, kSourceScores),
          statistic_of<T>(statistics, kTargetScores),
          inputs.edge_weights.numel() == 0 ? nullptr : inputs.edge_weights.data_ptr<T>(),
          static_cast<T>(inputs.options.negative_slope),
          dropout_of<T>(inputs.options)};
}

}  // namespace qw::ops
