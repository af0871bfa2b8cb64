#include "ops/graph_attention_checks.h"

#include <cmath>

#include "ops/checks.h"
#include "ops/index_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

void check_pattern(const char* op, const SparsePattern& pattern, const Tensor& features) {
  check_square_pattern(op, pattern, features);
  const int64_t entries = pattern.columns.size(0);
  TORCH_CHECK(pattern.order.size(0) == entries, op, ": order must have an entry for each of ", entries,
              " entries, got ", pattern.order.size(0), "; SparsePattern::symmetric has none");
  check_pattern_entries(op, pattern);
}

void check_like(const char* op, const char* name, const Tensor& tensor, at::IntArrayRef sizes,
                const Tensor& features) {
  TORCH_CHECK(tensor.sizes() == sizes && tensor.scalar_type() == features.scalar_type() &&
                  tensor.device() == features.device(),
              op, ": ", name, " must be ", sizes, " of ", features.scalar_type(), " on ", features.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

void check_options(const char* op, const GraphAttentionOptions& options) {
  constexpr int64_t kCounterEnd = int64_t{1} << 32;
  TORCH_CHECK(std::isfinite(options.negative_slope), op, ": negative_slope must be finite, got ",
              options.negative_slope);
  TORCH_CHECK(options.dropout >= 0 && options.dropout < 1, op, ": dropout must be in [0, 1), got ",
              options.dropout);
  TORCH_CHECK(options.epoch >= 0 && options.epoch < kCounterEnd, op, ": epoch must be in [0, 2^32), got ",
              options.epoch);
  TORCH_CHECK(options.layer >= 0 && options.layer < kCounterEnd, op, ": layer must be in [0, 2^32), got ",
              options.layer);
}

}  // namespace

void check_graph_attention(const char* op, const AttentionInputs& inputs) {
  const Tensor& features = inputs.features;
  check_pattern(op, inputs.pattern, features);
  const int64_t nodes = inputs.pattern.offsets.size(0) - 1;
  check_matrix(op, "features", features, nodes, "node");
  const Tensor& source = inputs.attention_source;
  TORCH_CHECK(source.dim() == 3 && source.size(0) == 1 && source.size(1) >= 1, op,
              ": attention_source must be [1, H, D] with at least one head, got ", source.sizes());
  const int64_t heads = source.size(1), depth = source.size(2);
  TORCH_CHECK(features.size(1) == heads * depth, op, ": features must have ", heads * depth, " columns, ",
              heads, " heads of ", depth, ", got ", features.size(1));
  check_like(op, "attention_source", source, {1, heads, depth}, features);
  check_like(op, "attention_target", inputs.attention_target, {1, heads, depth}, features);
  const Tensor& weights = inputs.edge_weights;
  if (weights.dim() != 1 || weights.size(0) != 0)
    check_like(op, "edge_weights", weights, {inputs.pattern.columns.size(0)}, features);
  check_options(op, inputs.options);
}

void check_graph_attention_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    const Tensor& gradient, bool edge_weights_gradient) {
  constexpr const char* kOp = "qw::_graph_attention_backward";
  check_graph_attention(kOp, inputs);
  check_like(kOp, "result", outputs.result, inputs.features.sizes(), inputs.features);
  check_like(kOp, "statistics", outputs.statistics,
             {kAttentionStatistics, inputs.features.size(0), inputs.attention_source.size(1)},
             inputs.features);
  check_like(kOp, "gradient", gradient, inputs.features.sizes(), inputs.features);
  TORCH_CHECK(!edge_weights_gradient || inputs.edge_weights.size(0) == inputs.pattern.columns.size(0), kOp,
              ": there is no gradient for edge weights that are not there");
}

}  // namespace qw::ops
