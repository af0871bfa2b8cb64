#include "qw/ops/graph_attention.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cmath>

#include "ops/checks.h"
#include "ops/graph_attention_parts.h"

namespace qw {
namespace ops {
namespace {

void check_pattern(const char* op, const SparsePattern& pattern, const at::Tensor& features) {
  check_square_pattern(op, pattern, features);
  const int64_t entries = pattern.columns.size(0);
  TORCH_CHECK(pattern.order.size(0) == entries, op, ": order must have an entry for each of ", entries,
              " entries, got ", pattern.order.size(0), "; SparsePattern::symmetric has none");
}

void check_like(const char* op, const char* name, const at::Tensor& tensor, at::IntArrayRef sizes,
                const at::Tensor& features) {
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
  const at::Tensor& features = inputs.features;
  check_pattern(op, inputs.pattern, features);
  const int64_t nodes = inputs.pattern.offsets.size(0) - 1;
  check_matrix(op, "features", features, nodes, "node");
  const at::Tensor& source = inputs.attention_source;
  TORCH_CHECK(source.dim() == 3 && source.size(0) == 1 && source.size(1) >= 1, op,
              ": attention_source must be [1, H, D] with at least one head, got ", source.sizes());
  const int64_t heads = source.size(1), depth = source.size(2);
  TORCH_CHECK(features.size(1) == heads * depth, op, ": features must have ", heads * depth, " columns, ",
              heads, " heads of ", depth, ", got ", features.size(1));
  check_like(op, "attention_source", source, {1, heads, depth}, features);
  check_like(op, "attention_target", inputs.attention_target, {1, heads, depth}, features);
  const at::Tensor& weights = inputs.edge_weights;
  if (weights.dim() != 1 || weights.size(0) != 0)
    check_like(op, "edge_weights", weights, {inputs.pattern.columns.size(0)}, features);
  check_options(op, inputs.options);
}

void check_graph_attention_backward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    const at::Tensor& gradient, bool edge_weights_gradient) {
  constexpr const char* kOp = "qw::graph_attention_backward";
  check_graph_attention(kOp, inputs);
  check_like(kOp, "result", outputs.result, inputs.features.sizes(), inputs.features);
  check_like(kOp, "statistics", outputs.statistics,
             {kAttentionStatistics, inputs.features.size(0), inputs.attention_source.size(1)},
             inputs.features);
  check_like(kOp, "gradient", gradient, inputs.features.sizes(), inputs.features);
  TORCH_CHECK(!edge_weights_gradient || inputs.edge_weights.size(0) == inputs.pattern.columns.size(0), kOp,
              ": there is no gradient for edge weights that are not there");
}

using Forward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                   const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                   const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                   double, double, int64_t, int64_t, int64_t);
using Backward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>(
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
    const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
    const at::Tensor&, const at::Tensor&, double, double, int64_t, int64_t, int64_t, bool);
using Whole = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                         const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                         const at::Tensor&, double, double, int64_t, int64_t, int64_t);

AttentionOutputs graph_attention_forward(const AttentionInputs& inputs) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::graph_attention_forward", "").typed<Forward>();
  const auto& [pattern, features, attention_source, attention_target, edge_weights, options] = inputs;
  const auto [result, statistics] =
      op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
              pattern.order, features, attention_source, attention_target, edge_weights,
              options.negative_slope, options.dropout, options.seed, options.epoch, options.layer);
  return {result, statistics};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward(
    const AttentionInputs& inputs, const AttentionOutputs& outputs, const at::Tensor& gradient,
    bool edge_weights_gradient) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::graph_attention_backward", "").typed<Backward>();
  const auto& [pattern, features, attention_source, attention_target, edge_weights, options] = inputs;
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, features, attention_source, attention_target, edge_weights, outputs.result,
                 outputs.statistics, gradient, options.negative_slope, options.dropout, options.seed,
                 options.epoch, options.layer, edge_weights_gradient);
}

namespace {

at::Tensor graph_attention_without_gradient(const at::Tensor& offsets, const at::Tensor& columns,
                                            const at::Tensor& transposed_offsets,
                                            const at::Tensor& transposed_columns, const at::Tensor& order,
                                            const at::Tensor& features, const at::Tensor& attention_source,
                                            const at::Tensor& attention_target,
                                            const at::Tensor& edge_weights, double negative_slope,
                                            double dropout, int64_t seed, int64_t epoch, int64_t layer) {
  const AttentionInputs inputs{{offsets, columns, transposed_offsets, transposed_columns, order},
                               features,
                               attention_source,
                               attention_target,
                               edge_weights,
                               {negative_slope, dropout, seed, epoch, layer}};
  check_graph_attention("qw::graph_attention", inputs);
  return graph_attention_forward(inputs).result;
}

}  // namespace
}  // namespace ops

at::Tensor graph_attention(const SparsePattern& pattern, const at::Tensor& features,
                           const at::Tensor& attention_source, const at::Tensor& attention_target,
                           const at::Tensor& edge_weights, const GraphAttentionOptions& options) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::graph_attention", "").typed<ops::Whole>();
  return op.call(pattern.offsets, pattern.columns, pattern.transposed_offsets, pattern.transposed_columns,
                 pattern.order, features, attention_source, attention_target, edge_weights,
                 options.negative_slope, options.dropout, options.seed, options.epoch, options.layer);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "graph_attention(Tensor offsets, Tensor columns, Tensor transposed_offsets, Tensor transposed_columns, "
      "Tensor order, Tensor features, Tensor attention_source, Tensor attention_target, Tensor edge_weights, "
      "float negative_slope, float dropout, int seed, int epoch, int layer) -> Tensor");
  library.def(
      "graph_attention_forward(Tensor offsets, Tensor columns, Tensor transposed_offsets, "
      "Tensor transposed_columns, Tensor order, Tensor features, Tensor attention_source, Tensor "
      "attention_target, "
      "Tensor edge_weights, float negative_slope, float dropout, int seed, int epoch, int layer) -> "
      "(Tensor, Tensor)");
  library.def(
      "graph_attention_backward(Tensor offsets, Tensor columns, Tensor transposed_offsets, "
      "Tensor transposed_columns, Tensor order, Tensor features, Tensor attention_source, Tensor "
      "attention_target, "
      "Tensor edge_weights, Tensor result, Tensor statistics, Tensor gradient, "
      "float negative_slope, float dropout, int seed, int epoch, int layer, bool edge_weights_gradient) -> "
      "(Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("graph_attention", qw::ops::graph_attention_without_gradient);
}
