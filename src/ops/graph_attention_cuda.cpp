#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/graph_attention.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/graph_attention_parts.h"
#include "ops/graph_attention_view.h"

namespace qw::ops {
namespace {

std::tuple<at::Tensor, at::Tensor, at::Tensor> graph_attention_forward_cuda(
    const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
    const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& features,
    const at::Tensor& source_scores, const at::Tensor& target_scores, const at::Tensor& edge_weights,
    double negative_slope, double dropout, int64_t seed, int64_t epoch, int64_t layer) {
  const AttentionInputs given{{offsets, columns, transposed_offsets, transposed_columns, order},
                              features,
                              source_scores,
                              target_scores,
                              edge_weights,
                              {negative_slope, dropout, seed, epoch, layer}};
  check_graph_attention("qw::graph_attention_forward", given);
  const c10::DeviceGuard device(features.device());
  const AttentionInputs inputs = contiguous(given);
  at::Tensor result = at::empty(features.sizes(), features.options());
  at::Tensor maximum = at::empty(source_scores.sizes(), features.options());
  at::Tensor sum = at::empty(source_scores.sizes(), features.options());
  count(columns.numel() * (2 * features.size(1) + 5 * source_scores.size(1)), offsets, columns, features,
        source_scores, target_scores, edge_weights, result, maximum, sum);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::graph_attention_forward", [&] {
    kernels::graph_attention_forward_cuda<scalar_t>(view_of<scalar_t>(inputs, false), draw_count(epoch),
                                                    {maximum.data_ptr<scalar_t>(), sum.data_ptr<scalar_t>()},
                                                    result.data_ptr<scalar_t>(), columns.size(0),
                                                    current_stream());
  });
  return {result, maximum, sum};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> graph_attention_backward_cuda(
    const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& transposed_offsets,
    const at::Tensor& transposed_columns, const at::Tensor& order, const at::Tensor& features,
    const at::Tensor& source_scores, const at::Tensor& target_scores, const at::Tensor& edge_weights,
    const at::Tensor& result, const at::Tensor& maximum, const at::Tensor& sum, const at::Tensor& gradient,
    double negative_slope, double dropout, int64_t seed, int64_t epoch, int64_t layer,
    bool edge_weights_gradient) {
  const AttentionInputs given{{offsets, columns, transposed_offsets, transposed_columns, order},
                              features,
                              source_scores,
                              target_scores,
                              edge_weights,
                              {negative_slope, dropout, seed, epoch, layer}};
  check_graph_attention_backward(given, {result, maximum, sum}, gradient, edge_weights_gradient);
  const c10::DeviceGuard device(features.device());
  const AttentionInputs inputs = contiguous(given);
  const AttentionOutputs outputs{result.contiguous(), maximum.contiguous(), sum.contiguous()};
  const at::Tensor upstream = gradient.contiguous();
  const int64_t heads = source_scores.size(1);
  const at::Tensor facts =
      at::empty({source_scores.size(0), heads, kernels::kAttentionFacts}, features.options());
  const at::Tensor scores_gradient = at::empty({columns.size(0), heads}, features.options());
  const at::Tensor edge_products =
      at::empty({edge_weights_gradient ? columns.size(0) : 0, heads}, features.options());
  at::Tensor features_gradient = at::empty(features.sizes(), features.options());
  at::Tensor source_gradient = at::empty(source_scores.sizes(), features.options());
  at::Tensor target_gradient = at::empty(source_scores.sizes(), features.options());
  at::Tensor edge_gradient = at::empty({edge_weights_gradient ? columns.size(0) : 0}, features.options());
  count(columns.numel() * (4 * features.size(1) + 14 * heads), offsets, columns, transposed_offsets,
        transposed_columns, order, features, source_scores, target_scores, edge_weights, result, upstream,
        upstream, scores_gradient, scores_gradient, features_gradient, source_gradient, target_gradient,
        edge_gradient);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::graph_attention_backward", [&] {
    const kernels::AttentionStatistics<scalar_t> statistics{outputs.maximum.data_ptr<scalar_t>(),
                                                            outputs.sum.data_ptr<scalar_t>()};
    const auto rows = view_of<scalar_t>(inputs, false);
    const kernels::Stream stream = current_stream();
    kernels::graph_attention_row_facts_cuda<scalar_t>(rows, statistics, outputs.result.data_ptr<scalar_t>(),
                                                      upstream.data_ptr<scalar_t>(),
                                                      facts.data_ptr<scalar_t>(), stream);
    kernels::graph_attention_backward_columns_cuda<scalar_t>(
        view_of<scalar_t>(inputs, true), draw_count(epoch), facts.data_ptr<scalar_t>(),
        upstream.data_ptr<scalar_t>(),
        {features_gradient.data_ptr<scalar_t>(), source_gradient.data_ptr<scalar_t>(),
         scores_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_products)},
        columns.size(0), stream);
    kernels::graph_attention_backward_rows_cuda<scalar_t>(
        rows, scores_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_products),
        target_gradient.data_ptr<scalar_t>(), data_or_null<scalar_t>(edge_gradient), columns.size(0), stream);
  });
  return {features_gradient, source_gradient, target_gradient, edge_gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("graph_attention_forward", graph_attention_forward_cuda);
  library.impl("graph_attention_backward", graph_attention_backward_cuda);
}

}  // namespace qw::ops
