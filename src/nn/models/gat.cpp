// Graph attention network (Velickovic et al., 2018), as PyTorch Geometric's GATConv: see graph_attention.h.
#include <fmt/format.h>

#include <algorithm>

#include "nn/layers/linear.h"
#include "qw/ops/graph_attention.h"

namespace qw {
namespace {

class AttentionLayer {
 public:
  AttentionLayer(ParameterSet& parameters, const std::string& name, int64_t in, int64_t heads, int64_t depth)
      : heads_(heads) {
    source_ = parameters.add_uniform(name + ".att_src", {1, heads, depth}, glorot_bound(heads, depth));
    target_ = parameters.add_uniform(name + ".att_dst", {1, heads, depth}, glorot_bound(heads, depth));
    bias_ = parameters.add_constant(name + ".bias", {heads * depth}, 0.0);
    weight_ = parameters.add_weight(name + ".lin.weight", heads * depth, in, glorot_bound(in, heads * depth));
  }

  int64_t heads() const { return heads_; }
  int64_t columns() const { return weight_.size(0); }

  LayerOutput apply(const PropagationMatrix& matrix, const NodeMatrix& x,
                    const GraphAttentionOptions& options) const {
    return {graph_attention(matrix.pattern, x.times(weight_), source_, target_, matrix.values, options),
            bias_};
  }

 private:
  int64_t heads_;
  at::Tensor source_, target_, bias_, weight_;
};

class Gat : public Model {
 public:
  Gat(const ModelShape& shape, const ModelOptions& options, uint64_t seed, const at::TensorOptions& tensors)
      : Model(seed, tensors),
        stack_(parameters_, options, widths(shape, options), {Activation::kElu, true}),
        dropout_(options.dropout) {
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      const bool last = layer == options.layers;
      const int64_t in = layer == 1 ? shape.inputs : options.heads * options.hidden;
      layers_.emplace_back(parameters_, fmt::format("conv{}", layer), in, last ? 1 : options.heads,
                           last ? shape.outputs : options.hidden);
    }
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = input.graph.neighbourhood(input.edge_weights);
    return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) {
      const DropoutKey key = dropout_key(input, DropoutPlace::kAttention, layer);
      GraphAttentionOptions options;
      options.dropout = input.training ? dropout_ : 0.0;
      options.seed = key.seed;
      options.epoch = key.epoch;
      options.layer = key.layer;
      return layers_[layer - 1].apply(matrix, x, options);
    });
  }

  // A layer keeps its features and its result, two scores and two statistics a head; on the way back it has
  // four facts a head of each node and a gradient a head of each entry.
  PassMemory pass_memory(bool edge_weights) const override {
    PassMemory memory = stack_.pass_memory(2);
    memory.graph = GraphUse::kOrderedAlone;
    memory.self_loops = true;
    for (const AttentionLayer& layer : layers_) {
      memory.kept_per_node += 4 * layer.heads();
      memory.moment_per_node = std::max(memory.moment_per_node, 2 * layer.columns() + 6 * layer.heads());
      memory.per_entry = std::max(memory.per_entry, layer.heads());
    }
    if (edge_weights) memory.per_entry += PassMemory::kLearnedValues;
    return memory;
  }

 private:
  static std::vector<int64_t> widths(const ModelShape& shape, const ModelOptions& options) {
    ModelOptions wide = options;
    wide.hidden = options.heads * options.hidden;
    return layer_widths(shape, wide);
  }

  LayerStack stack_;
  double dropout_;
  std::vector<AttentionLayer> layers_;
};

const ModelRegistration registration({"gat", "graph attention network", {"heads"}, make_model<Gat>});

}  // namespace
}  // namespace qw
