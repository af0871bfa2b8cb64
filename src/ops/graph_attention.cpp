#include "qw/ops/graph_attention.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <utility>

#include "kernels/dropout.h"
#include "kernels/graph_attention.h"
#include "kernels/head_scores.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/graph_attention_checks.h"
#include "ops/graph_attention_parts.h"
#include "ops/part_products.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

// As the schemas of both passes have them.
AttentionInputs inputs_of(const char* op, at::TensorList pattern, const Tensor& features,
                          const Tensor& attention_source, const Tensor& attention_target,
                          const OptionalTensor& edge_weights, double negative_slope, double dropout,
                          at::IntArrayRef key) {
  TORCH_CHECK(key.size() == 3, op, ": key must be seed, epoch and layer, got ", key.size(), " numbers");
  return {pattern_of(pattern),
          features,
          attention_source,
          attention_target,
          or_empty(edge_weights, features.options()),
          {negative_slope, dropout, key[0], key[1], key[2]}};
}

std::array<int64_t, 3> key_of(const GraphAttentionOptions& options) {
  return {options.seed, options.epoch, options.layer};
}

AttentionInputs contiguous(const AttentionInputs& inputs) {
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
  const Tensor& attention = inputs.attention_source;
  return {inputs.features.size(0),       attention.size(1),       attention.size(2),
          inputs.features.data_ptr<T>(), attention.data_ptr<T>(), inputs.attention_target.data_ptr<T>()};
}

// One of the AttentionStatistic, [N, H].
template <class T>
T* statistic_of(const Tensor& statistics, int64_t which) {
  return statistics.data_ptr<T>() + which * statistics.size(1) * statistics.size(2);
}

// The pattern, whose entries are in the order of the weights, or its transpose. The tensors must be
// contiguous.
template <class T>
kernels::AttentionView<T> view_of(const AttentionInputs& inputs, const Tensor& statistics, bool transposed) {
  const SparsePattern& pattern = inputs.pattern;
  const Tensor& offsets = transposed ? pattern.transposed_offsets : pattern.offsets;
  const Tensor& columns = transposed ? pattern.transposed_columns : pattern.columns;
  return {offsets.data_ptr<int64_t>(),
          columns.data_ptr<int32_t>(),
          transposed ? pattern.order.data_ptr<int64_t>() : nullptr,
          offsets.size(0) - 1,
          inputs.attention_source.size(1),
          inputs.attention_source.size(2),
          inputs.features.data_ptr<T>(),
          statistic_of<T>(statistics, kSourceScores),
          statistic_of<T>(statistics, kTargetScores),
          data_or_null<T>(inputs.edge_weights),
          static_cast<T>(inputs.options.negative_slope),
          dropout_of<T>(inputs.options),
          pattern.entry_numbers.defined() ? data_or_null<int64_t>(pattern.entry_numbers) : nullptr};
}

template <class T>
kernels::AttentionStatistics<T> softmax_of(const Tensor& statistics) {
  return {statistic_of<T>(statistics, kMaxima), statistic_of<T>(statistics, kSums)};
}

std::tuple<Tensor, Tensor> graph_attention_forward_backend(at::TensorList pattern, const Tensor& features,
                                                           const Tensor& attention_source,
                                                           const Tensor& attention_target,
                                                           const OptionalTensor& edge_weights,
                                                           double negative_slope, double dropout,
                                                           at::IntArrayRef key) {
  constexpr const char* kOp = "qw::graph_attention";
  const AttentionInputs given = inputs_of(kOp, pattern, features, attention_source, attention_target,
                                          edge_weights, negative_slope, dropout, key);
  check_graph_attention(kOp, given);
  const AttentionInputs inputs = contiguous(given);
  const Tensor &offsets = given.pattern.offsets, &columns = given.pattern.columns;
  Tensor result = at::empty(features.sizes(), features.options());
  const int64_t heads = attention_source.size(1);
  Tensor statistics = at::empty({kAttentionStatistics, features.size(0), heads}, features.options());
  record_work(columns.numel() * (2 * features.size(1) + 5 * heads) + 4 * features.numel(), offsets, columns,
              features, features, given.edge_weights, result, statistics);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::_graph_attention_forward", [&] {
    const auto scored = head_features<scalar_t>(inputs);
    scalar_t* source_scores = statistic_of<scalar_t>(statistics, kSourceScores);
    scalar_t* target_scores = statistic_of<scalar_t>(statistics, kTargetScores);
    const auto rows = view_of<scalar_t>(inputs, statistics, false);
    const auto softmax = softmax_of<scalar_t>(statistics);
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        features,
        [&] {
          kernels::head_scores_cpu(scored, source_scores, target_scores);
          kernels::graph_attention_forward_cpu(rows, softmax, to);
        },
        [&](auto stream) {
          kernels::head_scores_cuda(scored, source_scores, target_scores, stream);
          kernels::graph_attention_forward_cuda(rows, draw_number(inputs.options.epoch), softmax, to,
                                                columns.size(0), stream);
        });
  });
  return {result, statistics};
}

// What the backward pass makes.
struct AttentionBackward {
  Tensor facts;            // of the rows
  Tensor scores_gradient;  // [entries, H]
  Tensor features_gradient;
  Tensor source_gradient;  // of the scores, [N, H]
  Tensor target_gradient;
  Tensor attention_gradient;  // [2, 1, H, D]: of source, of target
  Tensor edge_gradient;       // [entries], or [0] when not asked for

  AttentionBackward(const AttentionInputs& inputs, bool edge_weights_gradient) {
    const at::TensorOptions options = inputs.features.options();
    const int64_t nodes = inputs.features.size(0), entries = inputs.pattern.columns.size(0);
    const int64_t heads = inputs.attention_source.size(1), depth = inputs.attention_source.size(2);
    facts = on_gpu(inputs.features) ? at::empty({nodes, heads, kernels::kAttentionFacts}, options)
                                    : at::empty({nodes, kernels::kAttentionFacts, heads}, options);
    scores_gradient = at::empty({entries, heads}, options);
    features_gradient = at::empty(inputs.features.sizes(), options);
    source_gradient = at::empty({nodes, heads}, options);
    target_gradient = at::empty({nodes, heads}, options);
    attention_gradient = at::empty({2, 1, heads, depth}, options);
    edge_gradient = at::empty({edge_weights_gradient ? entries : 0}, options);
  }

  // `parts` is room for the sums over rows.
  template <class T>
  kernels::HeadScoresGradients<T> head_scores(const Tensor& parts) const {
    return {source_gradient.data_ptr<T>(), target_gradient.data_ptr<T>(), features_gradient.data_ptr<T>(),
            parts.data_ptr<T>(), attention_gradient.data_ptr<T>()};
  }
};

// Of contiguous tensors.
template <class T>
void backward_on_cpu(const AttentionInputs& inputs, const AttentionOutputs& outputs, const Tensor& gradient,
                     const AttentionBackward& made) {
  const Tensor& features = inputs.features;
  const auto rows = view_of<T>(inputs, outputs.statistics, false);
  const Tensor parts =
      at::empty({kernels::head_scores_parts_cpu(features.size(0)), 2, features.size(1)}, features.options());
  const T* from = gradient.data_ptr<T>();
  T* facts = made.facts.data_ptr<T>();
  T* scores = made.scores_gradient.data_ptr<T>();
  kernels::graph_attention_row_facts_cpu<T>(rows, softmax_of<T>(outputs.statistics),
                                            outputs.result.data_ptr<T>(), from, facts);
  kernels::graph_attention_backward_columns_cpu<T>(
      view_of<T>(inputs, outputs.statistics, true), facts, from,
      {made.features_gradient.data_ptr<T>(), made.source_gradient.data_ptr<T>(), scores,
       data_or_null<T>(made.edge_gradient)});
  kernels::graph_attention_backward_rows_cpu<T>(rows, scores, made.target_gradient.data_ptr<T>());
  kernels::head_scores_backward_cpu<T>(head_features<T>(inputs), made.head_scores<T>(parts));
}

template <class T>
void backward_on_gpu(const AttentionInputs& inputs, const AttentionOutputs& outputs, const Tensor& gradient,
                     const AttentionBackward& made, kernels::Stream stream) {
  const Tensor& features = inputs.features;
  const int64_t entries = inputs.pattern.columns.size(0), width = features.size(1);
  const auto rows = view_of<T>(inputs, outputs.statistics, false);
  const Tensor edge_products =
      at::empty({made.edge_gradient.size(0), inputs.attention_source.size(1)}, features.options());
  const Tensor parts =
      at::empty({kernels::head_scores_parts_cuda(features.size(0), width), 2, width}, features.options());
  const T* from = gradient.data_ptr<T>();
  T* facts = made.facts.data_ptr<T>();
  T* scores = made.scores_gradient.data_ptr<T>();
  kernels::graph_attention_row_facts_cuda<T>(rows, softmax_of<T>(outputs.statistics),
                                             outputs.result.data_ptr<T>(), from, facts, stream);
  kernels::graph_attention_backward_columns_cuda<T>(
      view_of<T>(inputs, outputs.statistics, true), draw_number(inputs.options.epoch), facts, from,
      {made.features_gradient.data_ptr<T>(), made.source_gradient.data_ptr<T>(), scores,
       data_or_null<T>(edge_products)},
      entries, stream);
  kernels::graph_attention_backward_rows_cuda<T>(rows, scores, data_or_null<T>(edge_products),
                                                 made.target_gradient.data_ptr<T>(),
                                                 data_or_null<T>(made.edge_gradient), entries, stream);
  kernels::head_scores_backward_cuda<T>(head_features<T>(inputs), made.head_scores<T>(parts), stream);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_attention_backward_backend(
    at::TensorList pattern, const Tensor& features, const Tensor& attention_source,
    const Tensor& attention_target, const OptionalTensor& edge_weights, const Tensor& result,
    const Tensor& statistics, const Tensor& gradient, double negative_slope, double dropout,
    at::IntArrayRef key, bool edge_weights_gradient) {
  const AttentionInputs given =
      inputs_of("qw::_graph_attention_backward", pattern, features, attention_source, attention_target,
                edge_weights, negative_slope, dropout, key);
  check_graph_attention_backward(given, {result, statistics}, gradient, edge_weights_gradient);
  const AttentionInputs inputs = contiguous(given);
  const AttentionOutputs outputs{result.contiguous(), statistics.contiguous()};
  const Tensor upstream = gradient.contiguous();
  const AttentionBackward made(inputs, edge_weights_gradient);
  const SparsePattern& arcs = inputs.pattern;
  record_work(
      arcs.columns.numel() * (4 * features.size(1) + 14 * attention_source.size(1)) + 8 * features.numel(),
      arcs.offsets, arcs.columns, arcs.transposed_offsets, arcs.transposed_columns, arcs.order, features,
      features, statistics, given.edge_weights, result, upstream, upstream, made.scores_gradient,
      made.scores_gradient, made.features_gradient, made.features_gradient, made.features_gradient,
      made.source_gradient, made.source_gradient, made.target_gradient, made.target_gradient,
      made.edge_gradient);
  AT_DISPATCH_FLOATING_TYPES(features.scalar_type(), "qw::_graph_attention_backward", [&] {
    run_on(
        features, [&] { backward_on_cpu<scalar_t>(inputs, outputs, upstream, made); },
        [&](auto stream) { backward_on_gpu<scalar_t>(inputs, outputs, upstream, made, stream); });
  });
  return {made.features_gradient, made.attention_gradient.select(0, 0),
          made.attention_gradient.select(0, 1).clone(),  // results of an operator share no memory
          made.edge_gradient};
}

std::tuple<Tensor, Tensor> graph_attention_forward_meta(at::TensorList pattern, const Tensor& features,
                                                        const Tensor& attention_source,
                                                        const Tensor& attention_target,
                                                        const OptionalTensor& edge_weights,
                                                        double negative_slope, double dropout,
                                                        at::IntArrayRef key) {
  if (have_numbers(pattern, features, attention_source, attention_target, edge_weights)) {
    check_graph_attention("qw::graph_attention",
                          inputs_of("qw::graph_attention", pattern, features, attention_source,
                                    attention_target, edge_weights, negative_slope, dropout, key));
  }
  return {at::empty_symint(features.sym_sizes(), features.options()),
          at::empty_symint({kAttentionStatistics, features.sym_size(0), attention_source.sym_size(1)},
                           features.options())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_attention_backward_meta(
    at::TensorList pattern, const Tensor& features, const Tensor& attention_source,
    const Tensor& attention_target, const OptionalTensor&, const Tensor&, const Tensor&, const Tensor&,
    double, double, at::IntArrayRef, bool edge_weights_gradient) {
  const Tensor& columns = pattern_of(pattern).columns;
  return {at::empty_symint(features.sym_sizes(), features.options()),
          at::empty_symint(attention_source.sym_sizes(), features.options()),
          at::empty_symint(attention_target.sym_sizes(), features.options()),
          edge_weights_gradient ? at::empty_symint(columns.sym_sizes(), features.options())
                                : at::empty({0}, features.options())};
}

AttentionOutputs graph_attention_forward(const AttentionInputs& inputs) {
  const GraphAttentionOptions& options = inputs.options;
  auto [result, statistics] = call_without_gradient<graph_attention_forward_backend>(
      "qw::_graph_attention_forward", tensors_of(inputs.pattern), inputs.features, inputs.attention_source,
      inputs.attention_target, or_none(inputs.edge_weights), options.negative_slope, options.dropout,
      key_of(options));
  return {result, statistics};
}

Tensor graph_attention_backend(at::TensorList pattern, const Tensor& features, const Tensor& attention_source,
                               const Tensor& attention_target, const OptionalTensor& edge_weights,
                               double negative_slope, double dropout, int64_t seed, int64_t epoch,
                               int64_t layer) {
  const std::array<int64_t, 3> key{seed, epoch, layer};
  return std::get<0>(call_without_gradient<graph_attention_forward_backend>(
      "qw::_graph_attention_forward", pattern, features, attention_source, attention_target, edge_weights,
      negative_slope, dropout, key));
}

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
  static Tensor forward(AutogradContext* context, const SparsePattern& pattern, const Tensor& features,
                        const Tensor& attention_source, const Tensor& attention_target,
                        const OptionalTensor& optional_edge_weights, const GraphAttentionOptions& options) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Tensor edge_weights = optional_edge_weights.value_or(Tensor());
    const AttentionInputs inputs{pattern,          features,     attention_source,
                                 attention_target, edge_weights, options};
    const AttentionOutputs outputs = graph_attention_forward(inputs);
    context->saved_data["edge_weights_need_gradient"] =
        edge_weights.defined() && edge_weights.requires_grad() && !is_nothing(edge_weights);
    context->saved_data["negative_slope"] = options.negative_slope;
    context->saved_data["dropout"] = options.dropout;
    context->saved_data["key"] = std::vector<int64_t>{options.seed, options.epoch, options.layer};
    variable_list saved{features,     attention_source, attention_target,
                        edge_weights, outputs.result,   outputs.statistics};
    for (const Tensor& each : tensors_of(pattern)) saved.push_back(each);
    context->save_for_backward(std::move(saved));
    return outputs.result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::graph_attention: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::vector<int64_t> key = data["key"].toIntVector();
    const bool edge_weights_need_gradient = data["edge_weights_need_gradient"].toBool();
    const AttentionInputs inputs{
        pattern_of(at::TensorList(saved).slice(6)),
        saved[0],
        saved[1],
        saved[2],
        saved[3],
        {data["negative_slope"].toDouble(), data["dropout"].toDouble(), key[0], key[1], key[2]}};
    const auto [features, attention_source, attention_target, edge_weights] =
        graph_attention_backward(inputs, {saved[4], saved[5]}, gradients[0], edge_weights_need_gradient);
    return {Tensor(),
            features,
            attention_source,
            attention_target,
            edge_weights_need_gradient ? edge_weights : Tensor(),
            Tensor()};
  }
};

Tensor graph_attention_autograd(at::TensorList pattern, const Tensor& features,
                                const Tensor& attention_source, const Tensor& attention_target,
                                const OptionalTensor& edge_weights, double negative_slope, double dropout,
                                int64_t seed, int64_t epoch, int64_t layer) {
  return GraphAttention::apply(pattern_of(pattern), features, attention_source, attention_target,
                               edge_weights,
                               GraphAttentionOptions{negative_slope, dropout, seed, epoch, layer});
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_attention_backward(const AttentionInputs& inputs,
                                                                    const AttentionOutputs& outputs,
                                                                    const Tensor& gradient,
                                                                    bool edge_weights_gradient) {
  const GraphAttentionOptions& options = inputs.options;
  return call_without_gradient<graph_attention_backward_backend>(
      "qw::_graph_attention_backward", tensors_of(inputs.pattern), inputs.features, inputs.attention_source,
      inputs.attention_target, or_none(inputs.edge_weights), outputs.result, outputs.statistics, gradient,
      options.negative_slope, options.dropout, key_of(options), edge_weights_gradient);
}

QW_BACKENDS(library) {
  library.impl("_graph_attention_forward", graph_attention_forward_backend);
  library.impl("_graph_attention_backward", graph_attention_backward_backend);
}

QW_META(library) {
  library.impl("_graph_attention_forward", graph_attention_forward_meta);
  library.impl("_graph_attention_backward", graph_attention_backward_meta);
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) {
  library.impl("graph_attention", graph_attention_backend);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("graph_attention", graph_attention_autograd); }

QW_NO_GRADIENT("_graph_attention_forward", "_graph_attention_backward")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "graph_attention(Tensor[] pattern, Tensor features, Tensor attention_source, Tensor attention_target, "
      "Tensor? edge_weights=None, float negative_slope=0.2, float dropout=0.0, int seed=0, int epoch=0, "
      "int layer=0) -> Tensor");
  library.def(
      "_graph_attention_forward(Tensor[] pattern, Tensor features, Tensor attention_source, "
      "Tensor attention_target, Tensor? edge_weights, float negative_slope, float dropout, int[] key) -> "
      "(Tensor, Tensor)");
  library.def(
      "_graph_attention_backward(Tensor[] pattern, Tensor features, Tensor attention_source, "
      "Tensor attention_target, Tensor? edge_weights, Tensor result, Tensor statistics, Tensor gradient, "
      "float negative_slope, float dropout, int[] key, bool edge_weights_gradient) -> "
      "(Tensor, Tensor, Tensor, Tensor)");
}

}  // namespace ops

at::Tensor graph_attention(const SparsePattern& pattern, const at::Tensor& features,
                           const at::Tensor& attention_source, const at::Tensor& attention_target,
                           const at::Tensor& edge_weights, const GraphAttentionOptions& options) {
  if (pattern.others != nullptr)
    return ops::part_attention(pattern, features, attention_source, attention_target, edge_weights, options);
  return ops::call<ops::graph_attention_backend>("qw::graph_attention", ops::tensors_of(pattern), features,
                                                 attention_source, attention_target,
                                                 ops::or_none(edge_weights), options.negative_slope,
                                                 options.dropout, options.seed, options.epoch, options.layer);
}

}  // namespace qw
