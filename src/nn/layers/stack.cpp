#include "nn/layers/stack.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>

#include "qw/ops/feature_norm.h"

namespace qw {

DropoutKey dropout_key(const ModelInput& input, DropoutPlace place, int64_t layer) {
  return {input.seed, input.epoch, static_cast<int64_t>(place) + layer, input.graph.row_numbers()};
}

bool is_constant(const ModelInput& input, const NodeMatrix& x) {
  if (input.edge_weights.defined() || input.features.is_sparse() || x.is_sparse()) return false;
  return x.dense().is_same(input.features.dense()) && !x.dense().requires_grad();
}

std::vector<int64_t> layer_widths(const ModelShape& shape, const ModelOptions& options) {
  std::vector<int64_t> widths(options.layers + 1, options.hidden);
  widths.front() = shape.inputs;
  widths.back() = shape.outputs;
  return widths;
}

LayerStack::LayerStack(ParameterSet& parameters, const ModelOptions& options, std::vector<int64_t> widths,
                       StackStyle style)
    : dropout_(options.dropout),
      norm_(options.norm),
      style_(style),
      widths_(std::move(widths)),
      layers_(static_cast<int64_t>(widths_.size()) - 1),
      residual_(options.residual) {
  for (int64_t layer = 1; layer <= layers_; ++layer) {
    const int64_t in = widths_[layer - 1], out = widths_[layer];
    skips_.emplace_back();
    if (residual_ &&
        (in != out || layer == 1)) {  // features may be sparse, so the first is never added as is
      skips_.back() = parameters.add_weight(fmt::format("skip{}.weight", layer), out, in, linear_bound(in));
    }
    norms_.emplace_back();
    if (norm_ == "none" || layer == layers_) continue;
    const std::string name = fmt::format("norm{}", layer);
    Norm& norm = norms_.back();
    norm.weight = parameters.add_constant(name + ".weight", {out}, 1.0);
    norm.bias = parameters.add_constant(name + ".bias", {out}, 0.0);
    if (norm_ != "batch") continue;
    norm.running_mean = parameters.add_buffer(name + ".running_mean", at::zeros({out}, parameters.options()));
    norm.running_var = parameters.add_buffer(name + ".running_var", at::ones({out}, parameters.options()));
  }
}

at::Tensor LayerStack::between(const ModelInput& input, int64_t layer, const LayerOutput& output) const {
  const double p = input.training ? dropout_ : 0.0;
  const DropoutKey key = dropout_key(input, DropoutPlace::kLayer, layer);
  const at::Tensor none = at::empty({0}, output.rows.options());
  const at::Tensor bias = output.bias.defined() ? output.bias : none;
  if (norm_ == "none") return activate(output.rows, bias, style_.activation, p, key);
  const Norm& norm = norms_[layer - 1];
  at::Tensor rows = output.bias.defined() ? add_bias(output.rows, bias) : output.rows;
  if (norm_ == "layer") {
    rows = layer_norm(rows, norm.weight, norm.bias);
  } else if (input.training && input.graph.others()) {
    rows = batch_norm_of_parts(input.graph.others(), rows, norm.weight, norm.bias, norm.running_mean,
                               norm.running_var);
  } else {
    rows = batch_norm(rows, norm.weight, norm.bias, norm.running_mean, norm.running_var, input.training);
  }
  return activate(rows, none, style_.activation, p, key);
}

// Between layers the result of the activation is kept, which is what the next layer keeps as its input; a
// norm keeps its own input as well. Going back, a gradient and the one made from it are there at a time.
PassMemory LayerStack::pass_memory(int64_t kept) const {
  PassMemory memory;
  memory.feature_copies = style_.drop_input && dropout_ > 0 ? 1 : 0;
  for (int64_t layer = 1; layer <= layers_; ++layer) {
    const int64_t width = widths_[layer];
    const bool normed = norm_ != "none" && layer < layers_;
    memory.kept_per_node += width * (1 + kept + (normed ? 1 : 0)) + (normed && norm_ == "layer" ? 2 : 0);
    memory.moment_per_node = std::max(memory.moment_per_node, 2 * width);
  }
  return memory;
}

at::Tensor LayerStack::run(const ModelInput& input, const Layer& layer) const {
  NodeMatrix x = input.features;
  if (style_.drop_input && input.training) {
    x = x.dropped(dropout_, dropout_key(input, DropoutPlace::kLayer));
  }
  for (int64_t l = 1;; ++l) {
    LayerOutput output = layer(l, x);
    if (residual_) {
      const at::Tensor& skip = skips_[l - 1];
      output.rows = output.rows + (skip.defined() ? x.times(skip) : x.dense());
    }
    if (l == layers_) return output.bias.defined() ? add_bias(output.rows, output.bias) : output.rows;
    x = between(input, l, output);
  }
}

}  // namespace qw
