#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/graph_attention.h"
#include "kernels/head_scores.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/graph_attention_parts.h"
#include "ops/graph_attention_view.h"

namespace qw::ops {
namespace {

std::tuple<at::Tensor, at::Tensor> graph_attention_forward_cuda(
    const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
    const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& features,
    const at::Tensor& attention_source, const at::Tensor& attention_target, const at::Tensor& edge_weights,
    double negative_slope, double dropout, int64_t seed, int64_t epoch, int64_t layer) {
  const AttentionInputs given{{offsets, columns, transposed_offsets, transposed_columns, order},
                              features,
                              attention_source,
                              attention_target,
                              edge_weights,
                              {negative_slope, dropout, seed, epoch, layer}};
  check_graph_attention("qw::graph_attention_forward", given);
  const c10::DeviceGuard device(features.device());
  const AttentionInputs inputs = contiguous(given);
  at::Tensor result = at::empty(features.sizes(), features.options());
  const int64_t heads = attention_source.size(1);
  at::Tensor statistics = at::empty({kAttentionStatistics, features.size(0), heads}, features.options());
  count(columns.numel() * (2 * features.size(1) + 5 * heads) + 4 * features.numel(), offsets, columns,
        features, features, edge_weights, result, statistics);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::graph_attention_forward", [&] {
    const kernels::Stream stream = current_stream();
    kernels::head_scores_cuda<scalar_t>(head_features<scalar_t>(inputs),
                                        statistic_of<scalar_t>(statistics, kSourceScores),
                                        statistic_of<scalar_t>(statistics, kTargetScores), stream);
    kernels::graph_attention_forward_cuda<scalar_t>(
        view_of<scalar_t>(inputs, statistics, false), draw_count(epoch),
        {statistic_of<scalar_t>(statistics, kMaxima), statistic_of<scalar_t>(statistics, kSums)},
        result.data_ptr<scalar_t>(), columns.size(0), stream);
  });
  return {result, statistics};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward_cuda(
    const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
    const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& features,
    const at::Tensor& attention_source, const at::Tensor& attention_target, const at::Tensor& edge_weights,
    const at::Tensor& result, const at::Tensor& statistics, const at::Tensor& gradient, double negative_slope,
    double dropout, int64_t seed, int64_t epoch, int64_t layer, bool edge_weights_gradient) {
  const AttentionInputs given{{offsets, columns, transposed_offsets, transposed_columns, order},
                              features,
                              attention_source,
                              attention_target,
                              edge_weights,
                              {negative_slope, dropout, seed, epoch, layer}};
  check_graph_attention_backward(given, {result, statistics}, gradient, edge_weights_gradient);
  const c10::DeviceGuard device(features.device());
  const AttentionInputs inputs = contiguous(given);
  const AttentionOutputs outputs{result.contiguous(), statistics.contiguous()};
  const at::Tensor upstream = gradient.contiguous();
  const int64_t nodes = features.size(0), heads = attention_source.size(1);
  const at::Tensor facts = at::empty({nodes, heads, kernels::kAttentionFacts}, features.options());
  const at::Tensor scores_gradient = at::empty({columns.size(0), heads}, features.options());
  const at::Tensor edge_products =
      at::empty({edge_weights_gradient ? columns.size(0) : 0, heads}, features.options());
  at::Tensor features_gradient = at::empty(features.sizes(), features.options());
  const at::Tensor source_gradient = at::empty({nodes, heads}, features.options());
  const at::Tensor target_gradient = at::empty({nodes, heads}, features.options());
  const at::Tensor parts = at::empty(
      {kernels::head_scores_parts_cuda(nodes, features.size(1)), 2, features.size(1)}, features.options());
  at::Tensor attention_gradient = at::empty({2, 1, heads, attention_source.size(2)}, features.options());
  at::Tensor edge_gradient = at::empty({edge_weights_gradient ? columns.size(0) : 0}, features.options());
  count(columns.numel() * (4 * features.size(1) + 14 * heads) + 8 * features.numel(), offsets, columns,
        transposed_offsets, transposed_columns, order, features, features, statistics, edge_weights, result,
        upstream, upstream, scores_gradient, scores_gradient, features_gradient, features_gradient,
        features_gradient, source_gradient, source_gradient, target_gradient, target_gradient, edge_gradient);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::graph_attention_backward", [&] {
    const kernels::AttentionStatistics<scalar_t> softmax{statistic_of<scalar_t>(outputs.statistics, kMaxima),
                                                         statistic_of<scalar_t>(outputs.statistics, kSums)};
    const auto rows = view_of<scalar_t>(inputs, outputs.statistics, false);
    const kernels::Stream stream = current_stream();
    kernels::graph_attention_row_facts_cuda<scalar_t>(rows, softmax, outputs.result.data_ptr<scalar_t>(),
                                                      upstream.data_ptr<scalar_t>(),
                                                      facts.data_ptr<scalar_t>(), stream);
    kernels::graph_attention_backward_columns_cuda<scalar_t>(
        view_of<scalar_t>(inputs, outputs.statistics, true), draw_count(epoch), facts.data_ptr<scalar_t>(),
        upstream.data_ptr<scalar_t>(),
        {features_gradient.data_ptr<scalar_t>(), source_gradient.data_ptr<scalar_t>(),
         scores_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_products)},
        columns.size(0), stream);
    kernels::graph_attention_backward_rows_cuda<scalar_t>(
        rows, scores_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_products),
        target_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_gradient), columns.size(0), stream);
    kernels::head_scores_backward_cuda<scalar_t>(
        head_features<scalar_t>(inputs),
        {source_gradient.data_ptr<scalar_t>(), target_gradient.data_ptr<scalar_t>(),
         features_gradient.data_ptr<scalar_t>(), parts.data_ptr<scalar_t>(),
         attention_gradient.data_ptr<scalar_t>()},
        stream);
  });
  return {features_gradient, attention_gradient.select(0, 0), attention_gradient.select(0, 1), edge_gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("graph_attention_forward", graph_attention_forward_cuda);
  library.impl("graph_attention_backward", graph_attention_backward_cuda);
}

}  // namespace qw::ops
