#include "qw/nn/graph_tensors.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/counting_sort.h"
#include "nn/graph_matrices.h"
#include "nn/tensors.h"
#include "qw/core/parallel.h"
#include "qw/graph/matrix.h"
#include "qw/ops/edge_values.h"
#include "qw/ops/normalise.h"

namespace qw {
namespace {

// A or A + I: where its entries are. The rest is large and made only for who asks.
struct Entries {
  SparsePattern alone;  // without an order: all that a matrix needs which equals its transpose
  std::optional<SparsePattern> ordered;  // with a real order
  std::optional<EntryEdges> edges;
};

std::span<const int64_t> span_of(const at::Tensor& offsets) {
  return {offsets.data_ptr<int64_t>(), static_cast<size_t>(offsets.size(0))};
}

// Calls put(row, position, column, edge) for every entry of A or A + I, from several threads, each with rows
// of its own.
template <class Put>
void for_entries(const Graph& graph, std::span<const int64_t> offsets, bool loops, const Put& put) {
  const Adjacency in = graph.in();
  parallel_rows(offsets, kSmallestPart, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto node = static_cast<NodeId>(row);
      const std::span<const NodeId> neighbours = in.neighbours_of(node);
      const std::span<const EdgeId> edges = in.edges_of(node);
      int64_t at = offsets[row];
      bool diagonal_done = !loops;
      for (size_t k = 0; k < neighbours.size(); ++k) {
        if (!diagonal_done && neighbours[k] > node) put(node, at++, node, kNoEdge);
        diagonal_done |= neighbours[k] >= node;
        put(node, at++, neighbours[k], edges[k]);
      }
      if (!diagonal_done) put(node, at, node, kNoEdge);
    }
  });
}

Entries make_entries(const Graph& graph, bool loops, at::Device device) {
  if (!loops) {
    const Adjacency in = graph.in();
    return {
        SparsePattern::symmetric(tensor_of(in.offsets, device), tensor_of(in.neighbours, device)), {}, {}};
  }
  const at::Tensor offsets = tensor_of(offsets_with_diagonal(graph));
  const at::Tensor columns = at::empty({span_of(offsets).back()}, at::kInt);
  auto* out = columns.data_ptr<int32_t>();
  for_entries(graph, span_of(offsets), loops,
              [out](NodeId, int64_t at, NodeId column, EdgeId) { out[at] = column; });
  return {SparsePattern::symmetric(offsets.to(device), columns.to(device)), {}, {}};
}

// Entry k of the transpose is entry order[k] of the matrix: a counting sort by column, where every thread
// reads all columns and writes only those it owns. The pattern of an undirected graph is its own transpose.
SparsePattern ordered_pattern(const SparsePattern& alone, bool undirected, at::Device device) {
  const at::Tensor offsets = alone.offsets.cpu(), columns = alone.columns.cpu();
  const std::span<const int64_t> rows = span_of(offsets);
  const std::span<const NodeId> column(columns.data_ptr<int32_t>(), static_cast<size_t>(columns.size(0)));
  const auto nodes = static_cast<int64_t>(rows.size()) - 1;
  const at::Tensor transposed_offsets = undirected ? offsets : tensor_of(row_offsets(column, nodes));
  const at::Tensor transposed_columns = undirected ? columns : at::empty_like(columns);
  const at::Tensor order = at::empty({columns.size(0)}, at::kLong);
  auto* row_of = transposed_columns.data_ptr<int32_t>();
  auto* entry_of = order.data_ptr<int64_t>();
  const std::span<const int64_t> first = span_of(transposed_offsets);
  parallel_rows(first, kSmallestPart, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> next(first.begin() + begin, first.begin() + end);
    for (int64_t row = 0; row < nodes; ++row) {
      for (int64_t at = rows[row]; at < rows[row + 1]; ++at) {
        if (column[at] < begin || column[at] >= end) continue;
        const int64_t to = next[column[at] - begin]++;
        entry_of[to] = at;
        if (!undirected) row_of[to] = static_cast<NodeId>(row);
      }
    }
  });
  SparsePattern pattern = alone;
  pattern.order = order.to(device);
  if (!undirected) {
    pattern.transposed_offsets = transposed_offsets.to(device);
    pattern.transposed_columns = transposed_columns.to(device);
  }
  return pattern;
}

// An undirected edge has its head in the earlier of its two rows; a directed one and a self-loop have but one
// entry.
EntryEdges entry_edges(const Graph& graph, const SparsePattern& alone, bool loops, at::Device device) {
  const at::Tensor offsets = alone.offsets.cpu();
  const at::Tensor edges = at::empty({alone.columns.size(0)}, at::kLong);
  const at::Tensor entries_of = at::full({graph.num_edges(), 2}, -1, at::kLong);
  auto* edge_of = edges.data_ptr<int64_t>();
  auto* of_edge = entries_of.data_ptr<int64_t>();
  const std::span<const NodeId> heads = graph.heads();
  for_entries(graph, span_of(offsets), loops, [&](NodeId row, int64_t at, NodeId, EdgeId edge) {
    edge_of[at] = edge;
    if (edge == kNoEdge) return;
    const bool second = !graph.directed() && row != heads[edge];
    of_edge[2 * edge + (second ? 1 : 0)] = at;
  });
  return {edges.to(device), entries_of.to(device)};
}

class WholeGraph : public GraphMatrices {
 public:
  WholeGraph(const Graph& graph, const at::TensorOptions& options) : GraphMatrices(options), graph_(graph) {}

  int64_t num_nodes() const override { return graph_.num_nodes(); }
  int64_t num_edges() const override { return graph_.num_edges(); }

  PropagationMatrix matrix(Kind kind, const at::Tensor& given) override {
    const bool equals_transpose = kind != kMean && kind != kNeighbourhood;
    const SparsePattern& pattern = equals_transpose ? products(has_loops(kind)) : ordered(has_loops(kind));
    if (given.defined()) return {pattern, make_values(kind, given)};
    const std::lock_guard<std::recursive_mutex> lock(building_);
    at::Tensor& kept = constant_values_[kind];
    const bool all_ones = kind == kNeighbourhood && graph_.weights().empty();
    if (!kept.defined()) kept = all_ones ? at::empty({0}, options_) : make_values(kind, {});
    return {pattern, kept};
  }

  const IncidenceTensors& incidence() override {
    const std::lock_guard<std::recursive_mutex> lock(building_);
    if (!incidence_) incidence_ = make_incidence();
    return *incidence_;
  }

 private:
  Entries& entries(bool loops) {
    const std::lock_guard<std::recursive_mutex> lock(building_);
    std::optional<Entries>& kept = loops ? with_loops_ : without_loops_;
    if (!kept) kept = make_entries(graph_, loops, options_.device());
    return *kept;
  }

  const SparsePattern& ordered(bool loops) {
    const std::lock_guard<std::recursive_mutex> lock(building_);
    Entries& of = entries(loops);
    if (!of.ordered) of.ordered = ordered_pattern(of.alone, !graph_.directed(), options_.device());
    return *of.ordered;
  }

  // For matrices that equal their transpose when the graph is undirected: then the pattern alone serves both.
  const SparsePattern& products(bool loops) {
    return graph_.directed() ? ordered(loops) : entries(loops).alone;
  }

  const EntryEdges& edges(bool loops) {
    const std::lock_guard<std::recursive_mutex> lock(building_);
    Entries& of = entries(loops);
    if (!of.edges) of.edges = entry_edges(graph_, of.alone, loops, options_.device());
    return *of.edges;
  }

  // The weights of the entries, the graph's own times those given, not yet normalised.
  at::Tensor weights(bool loops, const at::Tensor& given) {
    if (!given.defined()) return own_weights(loops);
    return edge_values(graph_.weights().empty() ? given : own_edge_weights() * given, edges(loops));
  }

  const at::Tensor& own_edge_weights() {
    const std::lock_guard<std::recursive_mutex> lock(building_);
    if (!edge_weights_.defined()) edge_weights_ = tensor_of(graph_.weights()).to(options_);
    return edge_weights_;
  }

  at::Tensor own_weights(bool loops) {
    const SparsePattern& alone = entries(loops).alone;
    const std::span<const double> weight = graph_.weights();
    if (weight.empty()) return at::ones({alone.columns.size(0)}, options_);
    const at::Tensor values = at::empty({alone.columns.size(0)}, at::kDouble);
    auto* out = values.data_ptr<double>();
    const at::Tensor offsets = alone.offsets.cpu();
    for_entries(graph_, span_of(offsets), loops, [&](NodeId, int64_t at, NodeId, EdgeId edge) {
      out[at] = edge == kNoEdge ? 1.0 : weight[edge];
    });
    return values.to(options_);
  }

  at::Tensor make_values(Kind kind, const at::Tensor& given) {
    const bool loops = has_loops(kind);
    at::Tensor values = weights(loops, given);
    if (kind == kAdjacency || kind == kNeighbourhood) return values;
    // The gradient of the symmetric kind needs the order; constants have none.
    const SparsePattern& pattern = given.defined() ? ordered(loops) : products(loops);
    return normalise(pattern, values, kind == kMean ? Normalisation::kRows : Normalisation::kSymmetric);
  }

  IncidenceTensors make_incidence() const {
    const int64_t nodes = graph_.num_nodes();
    std::vector<int64_t> offsets(nodes + 1, 0);
    for (const NodeId head : graph_.heads()) ++offsets[head + 1];
    for (const NodeId tail : graph_.tails()) ++offsets[tail + 1];
    for (int64_t node = 0; node < nodes; ++node) offsets[node + 1] += offsets[node];
    std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
    std::vector<int64_t> arcs(2 * graph_.num_edges());
    for (EdgeId edge = 0; edge < graph_.num_edges(); ++edge) {
      arcs[next[graph_.heads()[edge]]++] = edge;
      arcs[next[graph_.tails()[edge]]++] = -1 - edge;
    }
    const at::Device device = options_.device();
    return {tensor_of(graph_.heads(), device), tensor_of(graph_.tails(), device), tensor_of(offsets, device),
            tensor_of(arcs, device)};
  }

  Graph graph_;
  std::optional<Entries> without_loops_, with_loops_;
  std::map<Kind, at::Tensor> constant_values_;  // for the graph's own weights
  at::Tensor edge_weights_;                     // the graph's own, when others multiply them
  std::optional<IncidenceTensors> incidence_;
};

}  // namespace

at::Tensor GraphMatrices::product(Kind kind, const at::Tensor& features) {
  const std::lock_guard<std::recursive_mutex> lock(building_);
  Product& kept = products_[kind];
  if (!kept.of.is_same(features)) {
    const c10::InferenceMode for_training_too(false);
    const at::NoGradGuard constant;
    const PropagationMatrix by = matrix(kind, {});
    kept = {features, kind == kAdjacency ? spmm(by.pattern, by.values, features, features)
                                         : spmm(by.pattern, by.values, features)};
  }
  return kept.product;
}

GraphTensors::GraphTensors(const Graph& graph, at::TensorOptions options)
    : matrices_(std::make_shared<WholeGraph>(graph, options)) {}
GraphTensors::GraphTensors(std::shared_ptr<GraphMatrices> matrices) : matrices_(std::move(matrices)) {}

int64_t GraphTensors::num_nodes() const { return matrices_->num_nodes(); }
int64_t GraphTensors::num_edges() const { return matrices_->num_edges(); }
const at::TensorOptions& GraphTensors::options() const { return matrices_->options(); }
at::Tensor GraphTensors::row_numbers() const { return matrices_->row_numbers(); }
std::shared_ptr<const RowExchange> GraphTensors::others() const { return matrices_->others(); }
at::Tensor GraphTensors::beside(const at::Tensor& own) const {
  return others() ? others()->beside(own) : own;
}

PropagationMatrix GraphTensors::with_self_loops(const at::Tensor& edge_weights) const {
  return matrices_->matrix(GraphMatrices::kWithLoops, edge_weights);
}
PropagationMatrix GraphTensors::normalised(const at::Tensor& edge_weights) const {
  return matrices_->matrix(GraphMatrices::kNormalised, edge_weights);
}
PropagationMatrix GraphTensors::adjacency(const at::Tensor& edge_weights) const {
  return matrices_->matrix(GraphMatrices::kAdjacency, edge_weights);
}
PropagationMatrix GraphTensors::mean(const at::Tensor& edge_weights) const {
  return matrices_->matrix(GraphMatrices::kMean, edge_weights);
}
PropagationMatrix GraphTensors::neighbourhood(const at::Tensor& edge_weights) const {
  return matrices_->matrix(GraphMatrices::kNeighbourhood, edge_weights);
}

at::Tensor GraphTensors::smoothed(const at::Tensor& features) const {
  return matrices_->product(GraphMatrices::kWithLoops, features);
}
at::Tensor GraphTensors::summed(const at::Tensor& features) const {
  return matrices_->product(GraphMatrices::kAdjacency, features);
}

const IncidenceTensors& GraphTensors::incidence() const { return matrices_->incidence(); }

}  // namespace qw
