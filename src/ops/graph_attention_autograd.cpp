#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/graph_attention_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// For one head, with raw_ij = source_j + target_i, a_ij the softmax over j of leaky_relu(raw_ij), d_ij the
// dropout (0 or 1 / (1 - p)), w_ij the edge weight and x_j the features:
//   y_i = sum_j a_ij w_ij d_ij x_j.
// With G_i = dL/dy_i and the product q_ij = <G_i, x_j>:
//   dL/dx_j     = sum_i a_ij w_ij d_ij G_i
//   dL/dw_ij    = a_ij d_ij q_ij                                (summed over the heads)
//   dL/da_ij    = w_ij d_ij q_ij
// The softmax's Jacobian is da_ij/dscore_ik = a_ij ([j = k] - a_ik), so with delta_i = sum_k a_ik dL/da_ik
//   dL/draw_ij  = s_ij a_ij (dL/da_ij - delta_i),    s_ij = 1 if raw_ij > 0 else negative_slope
//   dL/dtarget_i = sum_j dL/draw_ij,    dL/dsource_j = sum_i dL/draw_ij.
// Nothing has to be gathered for delta: the coefficients of its products are those of y,
//   delta_i = sum_k a_ik w_ik d_ik <G_i, x_k> = <G_i, y_i>,
// so the columns, each q_ij once, give all but dL/dtarget, and write dL/draw_ij for the rows to sum. Since
// source_j = <x_j, a> and target_j = <x_j, b>, then
//   dL/dx_j += dL/dsource_j a + dL/dtarget_j b,    dL/da = sum_j dL/dsource_j x_j,  and so for b.
// The backward pass is not differentiable again.
class GraphAttention : public torch::autograd::Function<GraphAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern,
                            const at::Tensor& features, const at::Tensor& attention_source,
                            const at::Tensor& attention_target, const at::Tensor& edge_weights,
                            const GraphAttentionOptions& options) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const AttentionInputs inputs{pattern,          features,     attention_source,
                                 attention_target, edge_weights, options};
    check_graph_attention("qw::graph_attention", inputs);
    const AttentionOutputs outputs = graph_attention_forward(inputs);
    context->saved_data["edge_weights_need_gradient"] =
        edge_weights.requires_grad() && edge_weights.size(0) == pattern.columns.size(0);
    context->saved_data["negative_slope"] = options.negative_slope;
    context->saved_data["dropout"] = options.dropout;
    context->saved_data["seed"] = options.seed;
    context->saved_data["epoch"] = options.epoch;
    context->saved_data["layer"] = options.layer;
    context->save_for_backward({pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                pattern.transposed_columns, pattern.order, features, attention_source,
                                attention_target, edge_weights, outputs.result, outputs.statistics});
    return outputs.result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::graph_attention: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const bool edge_weights_need_gradient = data["edge_weights_need_gradient"].toBool();
    const AttentionInputs inputs{{saved[0], saved[1], saved[2], saved[3], saved[4]},
                                 saved[5],
                                 saved[6],
                                 saved[7],
                                 saved[8],
                                 {data["negative_slope"].toDouble(), data["dropout"].toDouble(),
                                  data["seed"].toInt(), data["epoch"].toInt(), data["layer"].toInt()}};
    const auto [features, attention_source, attention_target, edge_weights] =
        graph_attention_backward(inputs, {saved[9], saved[10]}, gradients[0], edge_weights_need_gradient);
    return {at::Tensor(),
            features,
            attention_source,
            attention_target,
            edge_weights_need_gradient ? edge_weights : at::Tensor(),
            at::Tensor()};
  }
};

at::Tensor graph_attention_autograd(const at::Tensor& offsets, const at::Tensor& columns,
                                    const at::Tensor& transposed_offsets,
                                    const at::Tensor& transposed_columns, const at::Tensor& order,
                                    const at::Tensor& features, const at::Tensor& attention_source,
                                    const at::Tensor& attention_target, const at::Tensor& edge_weights,
                                    double negative_slope, double dropout, int64_t seed, int64_t epoch,
                                    int64_t layer) {
  return GraphAttention::apply(SparsePattern{offsets, columns, transposed_offsets, transposed_columns, order},
                               features, attention_source, attention_target, edge_weights,
                               GraphAttentionOptions{negative_slope, dropout, seed, epoch, layer});
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("graph_attention", graph_attention_autograd); }

}  // namespace qw::ops
