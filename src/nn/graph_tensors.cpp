#include "qw/nn/graph_tensors.h"

#include <ATen/Functions.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "nn/tensors.h"
#include "qw/graph/matrix.h"
#include "qw/ops/edge_values.h"
#include "qw/ops/normalise.h"

namespace qw {
namespace {

// A + I or A: where its entries are, and the edge behind each.
struct Entries {
  SparsePattern ordered;   // with a real order
  SparsePattern products;  // for matrices that equal their transpose: the pattern alone serves both
  EntryEdges edges;
};

// Entry k of the transpose of a CSR pattern is entry order[k] of the matrix: a counting sort by column.
SparsePattern ordered_pattern(const CsrMatrix& matrix, at::Device device) {
  const size_t nodes = matrix.offsets.size() - 1;
  std::vector<int64_t> offsets(nodes + 1, 0);
  for (const NodeId column : matrix.columns) ++offsets[column + 1];
  for (size_t node = 0; node < nodes; ++node) offsets[node + 1] += offsets[node];
  std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<NodeId> columns(matrix.columns.size());
  std::vector<int64_t> order(matrix.columns.size());
  for (size_t row = 0; row < nodes; ++row) {
    for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
      const int64_t to = next[matrix.columns[at]]++;
      columns[to] = static_cast<NodeId>(row);
      order[to] = at;
    }
  }
  return {tensor_of(matrix.offsets, device), tensor_of(matrix.columns, device), tensor_of(offsets, device),
          tensor_of(columns, device), tensor_of(order, device)};
}

EntryEdges entry_edges(const CsrMatrix& matrix, int64_t num_edges, at::Device device) {
  std::vector<int64_t> entries_of(2 * num_edges, -1);
  for (size_t at = 0; at < matrix.edges.size(); ++at) {
    if (matrix.edges[at] == kNoEdge) continue;
    int64_t* of_edge = entries_of.data() + 2 * matrix.edges[at];
    of_edge[of_edge[0] < 0 ? 0 : 1] = static_cast<int64_t>(at);
  }
  return {tensor_of(matrix.edges, device), tensor_of(entries_of, device).view({num_edges, 2})};
}

}  // namespace

struct GraphTensors::Storage {
  Graph graph;
  at::TensorOptions options;
  std::optional<Entries> without_loops, with_loops;
  std::map<int, at::Tensor> constant_values;  // by kind of matrix, for the graph's own weights
  std::optional<IncidenceTensors> incidence;
  std::recursive_mutex building;

  const Entries& entries(bool loops) {
    const std::lock_guard<std::recursive_mutex> lock(building);
    std::optional<Entries>& kept = loops ? with_loops : without_loops;
    if (!kept) {
      const CsrMatrix matrix = loops ? symmetric_normalisation(graph) : adjacency_matrix(graph);
      const at::Device device = options.device();
      Entries made{ordered_pattern(matrix, device), {}, entry_edges(matrix, graph.num_edges(), device)};
      made.products = graph.directed() ? made.ordered
                                       : SparsePattern::symmetric(made.ordered.offsets, made.ordered.columns);
      kept = std::move(made);
    }
    return *kept;
  }

  // The weights of the edges: the graph's own times those given.
  at::Tensor weights(const at::Tensor& given) const {
    if (graph.weights().empty()) {
      return given.defined() ? given : at::ones({graph.num_edges()}, options);
    }
    const at::Tensor own = tensor_of(graph.weights()).to(options);
    return given.defined() ? own * given : own;
  }

  enum Kind { kWithLoops, kNormalised, kAdjacency, kMean };

  at::Tensor make_values(Kind kind, const at::Tensor& given) {
    const Entries& of = entries(kind == kWithLoops);
    at::Tensor values = edge_values(weights(given), of.edges);
    if (kind == kAdjacency) return values;
    return normalise(of.ordered, values, kind == kMean ? Normalisation::kRows : Normalisation::kSymmetric);
  }

  PropagationMatrix matrix(Kind kind, const at::Tensor& given) {
    const Entries& of = entries(kind == kWithLoops);
    const SparsePattern& pattern = kind == kMean ? of.ordered : of.products;
    if (given.defined()) return {pattern, make_values(kind, given)};
    const std::lock_guard<std::recursive_mutex> lock(building);
    at::Tensor& kept = constant_values[kind];
    if (!kept.defined()) kept = make_values(kind, {});
    return {pattern, kept};
  }
};

GraphTensors::GraphTensors(const Graph& graph, at::TensorOptions options)
    : storage_(std::make_shared<Storage>()) {
  storage_->graph = graph;
  storage_->options = options;
}

int64_t GraphTensors::num_nodes() const { return storage_->graph.num_nodes(); }
int64_t GraphTensors::num_edges() const { return storage_->graph.num_edges(); }
const at::TensorOptions& GraphTensors::options() const { return storage_->options; }

PropagationMatrix GraphTensors::with_self_loops(const at::Tensor& edge_weights) const {
  return storage_->matrix(Storage::kWithLoops, edge_weights);
}
PropagationMatrix GraphTensors::normalised(const at::Tensor& edge_weights) const {
  return storage_->matrix(Storage::kNormalised, edge_weights);
}
PropagationMatrix GraphTensors::adjacency(const at::Tensor& edge_weights) const {
  return storage_->matrix(Storage::kAdjacency, edge_weights);
}
PropagationMatrix GraphTensors::mean(const at::Tensor& edge_weights) const {
  return storage_->matrix(Storage::kMean, edge_weights);
}

PropagationMatrix GraphTensors::neighbourhood(const at::Tensor& edge_weights) const {
  const Entries& of = storage_->entries(true);
  if (!edge_weights.defined() && storage_->graph.weights().empty()) {
    return {of.ordered, at::empty({0}, storage_->options)};
  }
  return {of.ordered, edge_values(storage_->weights(edge_weights), of.edges)};
}

const IncidenceTensors& GraphTensors::incidence() const {
  Storage& storage = *storage_;
  const std::lock_guard<std::recursive_mutex> lock(storage.building);
  if (!storage.incidence) {
    const Graph& graph = storage.graph;
    const int64_t nodes = graph.num_nodes();
    std::vector<int64_t> offsets(nodes + 1, 0);
    for (const NodeId head : graph.heads()) ++offsets[head + 1];
    for (const NodeId tail : graph.tails()) ++offsets[tail + 1];
    for (int64_t node = 0; node < nodes; ++node) offsets[node + 1] += offsets[node];
    std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
    std::vector<int64_t> arcs(2 * graph.num_edges());
    for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
      arcs[next[graph.heads()[edge]]++] = edge;
      arcs[next[graph.tails()[edge]]++] = -1 - edge;
    }
    const at::Device device = storage.options.device();
    storage.incidence = IncidenceTensors{tensor_of(graph.heads(), device), tensor_of(graph.tails(), device),
                                         tensor_of(offsets, device), tensor_of(arcs, device)};
  }
  return *storage.incidence;
}

}  // namespace qw
