// The inputs of graph attention as its kernels take them.
#pragma once

#include "kernels/dropout.h"
#include "kernels/graph_attention.h"
#include "ops/graph_attention_parts.h"

namespace qw::ops {

inline AttentionInputs contiguous(const AttentionInputs& inputs) {
  return {inputs.pattern,
          inputs.features.contiguous(),
          inputs.source_scores.contiguous(),
          inputs.target_scores.contiguous(),
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

// The pattern, whose entries are in the order of the weights, or its transpose. The inputs must be
// contiguous.
template <class T>
kernels::AttentionView<T> view_of(const AttentionInputs& inputs, bool transposed) {
  const SparsePattern& pattern = inputs.pattern;
  const at::Tensor& offsets = transposed ? pattern.transposed_offsets : pattern.offsets;
  const at::Tensor& columns = transposed ? pattern.transposed_columns : pattern.columns;
  const int64_t heads = inputs.source_scores.size(1);
  return {offsets.data_ptr<int64_t>(),
          columns.data_ptr<int32_t>(),
          transposed ? pattern.order.data_ptr<int64_t>() : nullptr,
          offsets.size(0) - 1,
          heads,
          inputs.features.size(1) / heads,
          inputs.features.data_ptr<T>(),
          inputs.source_scores.data_ptr<T>(),
          inputs.target_scores.data_ptr<T>(),
          inputs.edge_weights.numel() == 0 ? nullptr : inputs.edge_weights.data_ptr<T>(),
          static_cast<T>(inputs.options.negative_slope),
          dropout_of<T>(inputs.options)};
}

}  // namespace qw::ops
