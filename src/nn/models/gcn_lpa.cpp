// GCN-LPA (Wang and Leskovec, 2020): a GCN whose adjacency is learned, one score per entry of A + I,
// normalised by a softmax over each row. Training adds the loss of label propagation over the same matrix,
// which learned_adjacency gives; see the solver gcn-lpa.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include "nn/layers/linear.h"
#include "qw/core/error.h"
#include "qw/ops/normalise.h"

namespace qw {
namespace {

class GcnLpa : public Model {
 public:
  GcnLpa(const ModelShape& shape, const ModelOptions& options, uint64_t seed,
         const at::TensorOptions& tensors)
      : Model(seed, tensors), stack_(parameters_, options, layer_widths(shape, options)) {
    const std::vector<int64_t> widths = layer_widths(shape, options);
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      layers_.emplace_back(parameters_, fmt::format("conv{}.lin", layer), widths[layer - 1], widths[layer],
                           LinearStart::kGlorot);
    }
    scores_ = parameters_.add_constant("adjacency", {shape.entries}, 0.0, ParameterRole::kFilter);
  }

  at::Tensor forward(const ModelInput& input) override {
    const PropagationMatrix matrix = learned_adjacency(input);
    return stack_.run(input, [&](int64_t layer, const NodeMatrix& x) {
      const LayerOutput mapped = layers_[layer - 1].apply(x);
      return LayerOutput{spmm(matrix.pattern, matrix.values, mapped.rows), mapped.bias};
    });
  }

  PassMemory pass_memory(bool) const override {
    PassMemory memory = stack_.pass_memory(1);
    memory.graph = GraphUse::kOrderedAlone;
    memory.self_loops = true;
    memory.per_entry = PassMemory::kLearnedValues;
    return memory;
  }

  PropagationMatrix learned_adjacency(const ModelInput& input) override {
    const PropagationMatrix given = input.graph.neighbourhood(input.edge_weights);
    const int64_t entries = given.pattern.columns.size(0);
    if (entries != scores_.size(0)) {
      fail(
          fmt::format("gcn-lpa learned the {} entries of one adjacency matrix; this graph has {}: train anew",
                      scores_.size(0), entries));
    }
    at::Tensor values = normalise(given.pattern, scores_, Normalisation::kSoftmax);
    if (given.values.numel() != 0) {
      values = normalise(given.pattern, values * given.values, Normalisation::kRows);
    }
    return {given.pattern, values};
  }

 private:
  LayerStack stack_;
  std::vector<Linear> layers_;
  at::Tensor scores_;  // [entries of A + I]
};

const ModelRegistration registration(
    {"gcn-lpa", "GCN with a learned adjacency and label propagation", {}, make_model<GcnLpa>});

}  // namespace
}  // namespace qw
