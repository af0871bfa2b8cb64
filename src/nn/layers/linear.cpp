#include "nn/layers/linear.h"

#include <fmt/format.h>

namespace qw {

Linear::Linear(ParameterSet& parameters, const std::string& name, int64_t in, int64_t out, LinearStart start,
               bool with_bias) {
  const bool glorot = start == LinearStart::kGlorot;
  weight =
      parameters.add_weight(name + ".weight", out, in, glorot ? glorot_bound(in, out) : linear_bound(in));
  if (with_bias) bias = parameters.add_uniform(name + ".bias", {out}, glorot ? 0.0 : linear_bound(in));
}

Perceptron::Perceptron(ParameterSet& parameters, const ModelShape& shape, const ModelOptions& options)
    : stack_(parameters, options, layer_widths(shape, options), {Activation::kRelu, true}) {
  const std::vector<int64_t> widths = layer_widths(shape, options);
  for (int64_t layer = 1; layer <= options.layers; ++layer) {
    layers_.emplace_back(parameters, fmt::format("lin{}", layer), widths[layer - 1], widths[layer]);
  }
}

at::Tensor Perceptron::forward(const ModelInput& input) const {
  return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) { return layers_[layer - 1].apply(x); });
}

}  // namespace qw
