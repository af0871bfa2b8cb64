// Graph isomorphism network (Xu et al., 2019), as PyTorch Geometric's GINConv with eps = 0: each layer is
//   W_2 relu(W_0 (x_i + sum over neighbours of x_j) + b_0) + b_2,
// with elu between layers and dropout before each, as published.
// The sum commutes with W_0, which is applied first: it is narrower than the features.
#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "nn/layers/linear.h"

namespace qw {
namespace {

class Gin : public Model {
 public:
  Gin(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors),
        stack_(parameters_, options, layer_widths(shape, options), {Activation::kElu, true}) {
    const std::vector<int64_t> widths = layer_widths(shape, options);
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      const std::string name = fmt::format("conv{}.nn", layer);
      layers_.push_back({Linear(parameters_, name + ".0", widths[layer - 1], options.hidden),
                         Linear(parameters_, name + ".2", options.hidden, widths[layer])});
    }
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = input.graph.adjacency(input.edge_weights);
    return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) {
      const Convolution& convolution = layers_[layer - 1];
      const bool constant = is_constant(input, x);
      const LayerOutput mapped = convolution.first.apply(constant ? input.graph.summed(x.dense()) : x);
      const at::Tensor sum =
          constant ? mapped.rows : spmm(matrix.pattern, matrix.values, mapped.rows, mapped.rows);
      return convolution.second.apply(activate(sum, mapped.bias, Activation::kRelu));
    });
  }

  // Each layer keeps its hidden row; with learned weights also what the product took in, and not its result.
  PassMemory pass_memory(bool edge_weights) const override {
    PassMemory memory = stack_.pass_memory();
    memory.graph = GraphUse::kPattern;
    memory.keeps_product = !edge_weights;
    for (const Convolution& convolution : layers_) {
      const int64_t hidden = convolution.first.weight.size(0);
      memory.kept_per_node += edge_weights ? 2 * hidden : hidden;
      memory.moment_per_node = std::max(memory.moment_per_node, 2 * hidden);
    }
    if (edge_weights) memory.per_entry = PassMemory::kLearnedValues;
    return memory;
  }

 private:
  struct Convolution {
    Linear first, second;
  };
  LayerStack stack_;
  std::vector<Convolution> layers_;
};

const ModelRegistration registration({"gin", "graph isomorphism network", {}, make_model<Gin>});

}  // namespace
}  // namespace qw
