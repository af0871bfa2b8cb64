// What stands behind GraphTensors: a whole graph, or one part of it.
#pragma once

#include <map>
#include <mutex>

#include "qw/nn/graph_tensors.h"

namespace qw {

class GraphMatrices {
 public:
  enum Kind { kWithLoops, kNormalised, kAdjacency, kMean, kNeighbourhood };
  static bool has_loops(Kind kind) { return kind == kWithLoops || kind == kNeighbourhood; }

  explicit GraphMatrices(const at::TensorOptions& options) : options_(options) {}
  GraphMatrices(const GraphMatrices&) = delete;
  GraphMatrices& operator=(const GraphMatrices&) = delete;
  virtual ~GraphMatrices() = default;

  const at::TensorOptions& options() const { return options_; }
  virtual int64_t num_nodes() const = 0;
  virtual int64_t num_edges() const = 0;
  virtual PropagationMatrix matrix(Kind kind, const at::Tensor& edge_weights) = 0;
  virtual const IncidenceTensors& incidence() = 0;

  // As GraphTensors has them.
  virtual at::Tensor row_numbers() const { return {}; }
  virtual std::shared_ptr<const RowExchange> others() const { return nullptr; }

  // The matrix times constant features, plus these with kAdjacency; kept.
  at::Tensor product(Kind kind, const at::Tensor& features);

 protected:
  std::recursive_mutex building_;  // of what is kept
  at::TensorOptions options_;

 private:
  struct Product {
    at::Tensor of, product;
  };
  std::map<Kind, Product> products_;
};

}  // namespace qw
