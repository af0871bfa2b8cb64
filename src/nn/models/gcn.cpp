// Graph convolutional network (Kipf and Welling, 2017), as PyTorch Geometric's GCNConv: each layer is
//   D^-1/2 (A + I) D^-1/2 X W^T + b.
#include <fmt/format.h>

#include "nn/layers/linear.h"

namespace qw {
namespace {

class Gcn : public Model {
 public:
  Gcn(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors), stack_(parameters_, options, layer_widths(shape, options)) {
    const std::vector<int64_t> widths = layer_widths(shape, options);
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      const std::string name = fmt::format("conv{}", layer);
      Linear convolution(parameters_, name + ".lin", widths[layer - 1], widths[layer], LinearStart::kGlorot,
                         false);
      convolution.bias = parameters_.add_constant(name + ".bias", {widths[layer]}, 0.0);
      layers_.push_back(convolution);
    }
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = input.graph.with_self_loops(input.edge_weights);
    return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) {
      const Linear& linear = layers_[layer - 1];
      if (is_constant(input, x)) return linear.apply(input.graph.smoothed(x.dense()));
      const LayerOutput mapped = linear.apply(x);
      return LayerOutput{spmm(matrix.pattern, matrix.values, mapped.rows), mapped.bias};
    });
  }

  PassMemory pass_memory(bool edge_weights) const override {
    PassMemory memory = stack_.pass_memory(edge_weights ? 1 : 0);
    memory.graph = GraphUse::kPattern;
    memory.self_loops = true;
    memory.keeps_product = !edge_weights;
    if (edge_weights) memory.per_entry = PassMemory::kLearnedValues;
    return memory;
  }

 private:
  LayerStack stack_;
  std::vector<Linear> layers_;
};

const ModelRegistration registration({"gcn", "graph convolutional network", {}, make_model<Gcn>});

}  // namespace
}  // namespace qw
