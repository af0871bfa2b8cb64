// GraphSAGE with mean aggregation (Hamilton et al., 2017), as PyTorch Geometric's SAGEConv: each layer is
//   mean over neighbours of X, W_l^T, plus X W_r^T, plus b,
// with elu between layers and dropout before each, as published.
// The mean commutes with W_l^T, which is applied first: it is narrower than the features.
#include <fmt/format.h>

#include "nn/layers/linear.h"

namespace qw {
namespace {

class GraphSage : public Model {
 public:
  GraphSage(const ModelShape& shape, const ModelOptions& options, uint64_t seed,
            const at::TensorOptions& tensors)
      : Model(seed, tensors),
        stack_(parameters_, options, layer_widths(shape, options), {Activation::kElu, true}) {
    const std::vector<int64_t> widths = layer_widths(shape, options);
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      const std::string name = fmt::format("conv{}", layer);
      const int64_t in = widths[layer - 1], out = widths[layer];
      layers_.push_back({Linear(parameters_, name + ".lin_l", in, out),
                         Linear(parameters_, name + ".lin_r", in, out, LinearStart::kLinear, false)});
    }
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = input.graph.mean(input.edge_weights);
    return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) {
      const Convolution& convolution = layers_[layer - 1];
      const LayerOutput of_neighbours = convolution.of_neighbours.apply(x);
      return LayerOutput{
          spmm(matrix.pattern, matrix.values, of_neighbours.rows, convolution.own.apply(x).rows),
          of_neighbours.bias};
    });
  }

  PassMemory pass_memory(bool edge_weights) const override {
    PassMemory memory = stack_.pass_memory(edge_weights ? 1 : 0);
    memory.graph = GraphUse::kOrdered;
    memory.self_loops = false;
    if (edge_weights) memory.per_entry = PassMemory::kLearnedValues;
    return memory;
  }

 private:
  struct Convolution {
    Linear of_neighbours, own;
  };
  LayerStack stack_;
  std::vector<Convolution> layers_;
};

const ModelRegistration registration(
    {"graphsage", "GraphSAGE, mean over neighbours", {}, make_model<GraphSage>});

}  // namespace
}  // namespace qw
