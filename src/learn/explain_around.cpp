#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "learn/explain_parts.h"

namespace qw {
namespace {

constexpr size_t kMostNeighbours = 16;
constexpr size_t kMostNodes = 25;

// Node -> place, in the order in which they are drawn.
class Chosen {
 public:
  bool add(NodeId node, size_t most) {
    if (place_.contains(node)) return true;
    if (nodes_.size() >= most) return false;
    place_[node] = static_cast<int64_t>(nodes_.size());
    nodes_.push_back(node);
    return true;
  }
  bool has(NodeId node) const { return place_.contains(node); }
  int64_t place(NodeId node) const { return place_.at(node); }
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  std::vector<NodeId> nodes_;
  std::map<NodeId, int64_t> place_;
};

// The node, its neighbours, those along paths, and, where there is room, neighbours of neighbours.
Chosen chosen_nodes(const NodeQuestion& question, const ColumnExplanation& column) {
  Chosen chosen;
  chosen.add(question.node, 1);
  for (const NeighbourEffect& effect : column.neighbours)
    chosen.add(effect.neighbour.node, kMostNeighbours + 1);
  for (const NodeId neighbour : question.neighbours) chosen.add(neighbour, kMostNeighbours + 1);
  for (const ExplainedPath& path : column.paths) {
    if (path.nodes.size() < kMostNodes / 2) chosen.add(path.end.node, kMostNodes);
  }
  const Graph& graph = question.whole.graph;
  for (size_t k = 1; k < chosen.nodes().size(); ++k) {
    const NodeId node = chosen.nodes()[k];
    if (std::find(question.neighbours.begin(), question.neighbours.end(), node) == question.neighbours.end())
      continue;
    for (const Adjacency& adjacency : {graph.out(), graph.in()}) {
      for (const NodeId next : adjacency.neighbours_of(node)) {
        if (std::binary_search(question.neighbours.begin(), question.neighbours.end(), next)) continue;
        if (!chosen.add(next, kMostNodes)) return chosen;
      }
    }
  }
  return chosen;
}

// Edges between chosen nodes; those between the same two are one.
std::vector<DrawnEdge> drawn_edges(const NodeQuestion& question, const Chosen& chosen, int64_t column) {
  const Graph& graph = question.whole.graph;
  std::map<std::pair<int64_t, int64_t>, DrawnEdge> drawn;
  std::vector<EdgeId> edges;
  for (const NodeId node : chosen.nodes()) {
    const Adjacency out = graph.out();
    for (size_t k = 0; k < out.degree(node); ++k) {
      if (chosen.has(out.neighbours_of(node)[k])) edges.push_back(out.edges_of(node)[k]);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const EdgeId edge : edges) {
    const int64_t from = chosen.place(graph.tails()[edge]), to = chosen.place(graph.heads()[edge]);
    if (from == to) continue;
    const auto [found, is_new] = drawn.try_emplace({from, to}, DrawnEdge{from, to, 0, 0});
    found->second.weight += graph.weights().empty() ? 1.0 : graph.weights()[edge];
    if (question.flow.numel() > 0) found->second.flow += question.flow[edge][column].item<double>();
  }
  std::vector<DrawnEdge> result;
  for (auto& [ends, edge] : drawn) {
    if (edge.flow < 0) {
      std::swap(edge.from, edge.to);
      edge.flow = -edge.flow;
    }
    result.push_back(edge);
  }
  return result;
}

}  // namespace

Neighbourhood neighbourhood_of(const NodeQuestion& question, const Scores& said, double temperature,
                               const ColumnExplanation& column) {
  const Dataset& dataset = question.names.dataset();
  const Chosen chosen = chosen_nodes(question, column);
  Neighbourhood around;
  around.directed = question.whole.graph.directed();
  around.has_weights = !question.whole.graph.weights().empty();
  for (const NodeId node : chosen.nodes()) {
    const NodeScores scores = scores_of(said, node, dataset.targets.task, temperature);
    DrawnNode drawn{question.names.of(node), question.names.predicted(scores), -1, 0, 0};
    if (dataset.targets.task == Task::kClassification) {
      const std::string name = (drawn.is.trains ? drawn.is.label : drawn.predicted).text();
      for (int64_t c = 0; c < dataset.targets.width && drawn.place < 0; ++c) {
        if (question.names.column(c) == name) drawn.place = c;
      }
    }
    around.nodes.push_back(std::move(drawn));
  }
  around.edges = drawn_edges(question, chosen, column.column);
  around.neighbours_left_out = std::count_if(question.neighbours.begin(), question.neighbours.end(),
                                             [&](NodeId neighbour) { return !chosen.has(neighbour); });
  return around;
}

}  // namespace qw
