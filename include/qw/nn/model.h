// Graph neural networks: node features and a graph in, one row of scores per node out.
//
// A model is one file in src/nn/models: a class and its registration. It knows nothing of losses, labels or
// the flow; it takes optional edge weights and says what its parameters are for.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"
#include "qw/nn/graph_tensors.h"
#include "qw/nn/node_matrix.h"
#include "qw/nn/parameters.h"

namespace QW_PUBLIC qw {

// Defaults are those of the published experiments. Names, ranges and texts: model_fields() in
// model_options.h.
struct ModelOptions {
  int64_t hidden = 64;        // width of the hidden layers (of each head in gat)
  int64_t layers = 2;         // how many
  double dropout = 0.5;       // share of values dropped before and between layers
  std::string norm = "none";  // between layers: none, batch or layer
  bool residual = false;      // add the input of a layer to its output
  int64_t heads = 8;          // of attention, in all but the last layer (gat)
  int64_t k = 10;             // propagation steps (appnp, bernnet, chebnetii)
  double alpha = 0.1;         // probability to return to the start (appnp)
  double dprate = 0.0;        // share of values dropped before propagation
};

// The sizes that parameters depend on.
struct ModelShape {
  int64_t nodes = 0;    // of the graph it will see; some models have parameters for each entry of its matrix
  int64_t entries = 0;  // of A + I
  int64_t inputs = 0;   // columns of the features
  int64_t outputs = 0;  // columns of the scores
};

// One pass. `seed` and `epoch` name the random numbers of the dropouts; unused unless `training`.
struct ModelInput {
  const GraphTensors& graph;   // what to propagate over
  const NodeMatrix& features;  // what to propagate
  at::Tensor edge_weights;     // [E] or undefined
  bool training = false;       // with dropout, and batch statistics in norms
  int64_t seed = 0;            // see DropoutKey
  int64_t epoch = 0;           // see DropoutKey
};

// What a model asks of its graph.
enum class GraphUse {
  kNone,
  kPattern,      // a matrix that equals its transpose when the graph is undirected
  kOrdered,      // one that does not: its transpose is kept too
  kOrderedAlone  // the same, without values of its own
};

// What one training pass needs beside parameters, features and graph, in numbers of the model's type: an
// estimate for the memory plan (qw/learn/memory_plan.h). All of one layer counts; what lives for a moment
// counts where that is most.
struct PassMemory {
  // Per entry of a matrix whose values are learned: the values, and on the way back the gradients of the
  // normalised ones, of two products that add up, and of the values before.
  static constexpr int64_t kLearnedValues = 4;

  GraphUse graph = GraphUse::kNone;  // which matrix is kept
  bool self_loops = false;           // A + I, not A
  int64_t kept_per_node = 0;         // from the forward pass to the backward one
  int64_t moment_per_node = 0;       // gradients and what a layer makes on its way
  int64_t per_entry = 0;             // of the matrix, both together
  int64_t feature_copies = 0;        // of the numbers that the features store
  bool keeps_product = false;        // of the matrix and dense features, for all runs
};

// A network. Models derive from it and add their parameters in their constructor.
class Model {
 public:
  // Seed of the initial values; type and device of the parameters.
  Model(uint64_t seed, const at::TensorOptions& options) : parameters_(seed, options) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Scores [N, outputs]: logits of classes, or values.
  virtual at::Tensor forward(const ModelInput& input) = 0;

  // The matrix of a model that learns its adjacency (gcn-lpa), for label propagation over it; a matrix with
  // an undefined pattern otherwise.
  virtual PropagationMatrix learned_adjacency(const ModelInput& input);

  // What a training pass needs, with learned edge weights or without.
  virtual PassMemory pass_memory(bool edge_weights) const = 0;

  // Parameters and buffers, by name.
  const ParameterSet& parameters() const { return parameters_; }
  ParameterSet& parameters() { return parameters_; }

 protected:
  // To which constructors add.
  ParameterSet parameters_;
};

// An entry of the list of models.
struct ModelInfo {
  std::string name;                  // as in --model
  std::string summary;               // one line for --help and the documentation
  std::vector<std::string> options;  // the fields of ModelOptions that it heeds beyond those all heed
  // Makes the network with initial values of this seed.
  std::function<std::unique_ptr<Model>(const ModelShape&, const ModelOptions&, uint64_t seed,
                                       const at::TensorOptions&)>
      make;
};

// Every model, by name.
const std::vector<ModelInfo>& models();
// Throws qw::UsageError that lists the known ones.
const ModelInfo& find_model(std::string_view name);

// The shape of a model for this graph.
ModelShape model_shape(const Graph& graph, int64_t inputs, int64_t outputs);

// For the last lines of a model's file:
//   const ModelRegistration registration({"gcn", "graph convolutional network", {}, make_model<Gcn>});
template <class Concrete>
std::unique_ptr<Model> make_model(const ModelShape& shape, const ModelOptions& options, uint64_t seed,
                                  const at::TensorOptions& tensors) {
  return std::make_unique<Concrete>(shape, options, seed, tensors);
}

// Adds a model to models().
struct ModelRegistration {
  // At program start.
  explicit ModelRegistration(ModelInfo info);
};

}  // namespace qw
