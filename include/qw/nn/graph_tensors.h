// A graph as the models multiply with it.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/ops/incidence.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// A square sparse matrix over the nodes.
struct PropagationMatrix {
  SparsePattern pattern;  // where the entries are
  at::Tensor values;      // [entries]
};

class GraphMatrices;

// The matrices of one graph in one floating-point type, each built when first asked for and kept. Row i
// gathers from the nodes with an arc into i. All take the weights of the edges, [E] for each edge once,
// differentiable through the normalisation; an undefined tensor stands for the graph's own weights, or 1
// where it has none (the graph's own multiply those that are given). Copies share everything, also between
// threads.
class GraphTensors {
 public:
  // In the type and on the device of `options`.
  GraphTensors(const Graph& graph, at::TensorOptions options);
  // Those of one part of a graph; a row of each is a node that the part owns.
  explicit GraphTensors(std::shared_ptr<GraphMatrices> matrices);

  // N; of a part, the nodes that it owns.
  int64_t num_nodes() const;
  // E; an undirected edge counts once.
  int64_t num_edges() const;
  // Type and device of the matrices.
  const at::TensorOptions& options() const;

  // D^-1/2 (A + I) D^-1/2, the matrix of GCN and APPNP.
  PropagationMatrix with_self_loops(const at::Tensor& edge_weights = {}) const;
  // D^-1/2 A D^-1/2: I minus the normalised Laplacian, the matrix of the spectral filters.
  PropagationMatrix normalised(const at::Tensor& edge_weights = {}) const;
  // A: sums over neighbours.
  PropagationMatrix adjacency(const at::Tensor& edge_weights = {}) const;
  // D^-1 A: means over neighbours; rows without neighbours are zero.
  PropagationMatrix mean(const at::Tensor& edge_weights = {}) const;
  // The pattern of A + I, with a real order, and the weights of its entries ([0] where all are 1): attention
  // over neighbours and oneself.
  PropagationMatrix neighbourhood(const at::Tensor& edge_weights = {}) const;

  // with_self_loops() x, and adjacency() x + x, of dense features that stay as they are: made once and kept.
  at::Tensor smoothed(const at::Tensor& features) const;
  at::Tensor summed(const at::Tensor& features) const;

  // S, for flows on all edges.
  const IncidenceTensors& incidence() const;

  // Of a part: [N] int64, the numbers of its nodes in the whole, by which random numbers are drawn. Undefined
  // where the graph is whole.
  at::Tensor row_numbers() const;
  // Of a part: who has the rows of the nodes of other parts that its edges lead to. Null where the graph is
  // whole.
  std::shared_ptr<const RowExchange> others() const;
  // These rows [N, C] and behind them those, if there are others.
  at::Tensor beside(const at::Tensor& own) const;

 private:
  std::shared_ptr<GraphMatrices> matrices_;
};

}  // namespace qw
