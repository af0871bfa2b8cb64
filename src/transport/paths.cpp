#include "qw/transport/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "qw/core/error.h"

namespace qw {
namespace {

NodeId other_end(const Graph& graph, EdgeId edge, NodeId node) {
  return graph.heads()[edge] == node ? graph.tails()[edge] : graph.heads()[edge];
}

// Flows only shrink, so an edge that a node's pointer has passed never carries anything again: all searching
// for the next edge costs O(N + E) together.
class Decomposer {
 public:
  // `backwards` turns the flow around: paths then go from sinks to sources.
  Decomposer(const Graph& graph, std::span<const double> flow, double tolerance, bool backwards)
      : graph_(graph),
        arcs_(backwards ? graph.in() : graph.out()),
        tolerance_(tolerance),
        left_(flow.begin(), flow.end()),
        excess_(graph.num_nodes(), 0.0),
        next_(arcs_.offsets.begin(), arcs_.offsets.end() - 1),
        place_(graph.num_nodes(), -1) {
    for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
      const NodeId head = graph.heads()[edge], tail = graph.tails()[edge];
      const bool carries = std::fabs(left_[edge]) > tolerance;
      if (carries && head == tail) ++found_.cycles;
      if (!carries || head == tail) left_[edge] = 0;
      if (backwards) left_[edge] = -left_[edge];
      excess_[tail] += left_[edge];
      excess_[head] -= left_[edge];
    }
  }

  void take_paths_from(NodeId source) {
    while (excess_[source] > tolerance_ && walk(source, true)) take_path();
  }

  // What no source sends runs in circles.
  void cancel_cycles() {
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) walk(node, false);
  }

  FlowDecomposition take() { return std::move(found_); }

 private:
  double leaving(EdgeId edge, NodeId node) const {
    return graph_.tails()[edge] == node ? left_[edge] : -left_[edge];
  }

  // An edge by which flow leaves the node, or -1.
  EdgeId next_edge(NodeId node) {
    const int64_t end = arcs_.offsets[node + 1];
    for (int64_t& at = next_[node]; at < end; ++at) {
      if (leaving(arcs_.edges[at], node) > tolerance_) return arcs_.edges[at];
    }
    return -1;
  }

  // Follows the flow, cancelling cycles on the way; true when it stands at a sink, false when nothing leaves
  // `start` any more.
  bool walk(NodeId start, bool stop_at_sinks) {
    for (const NodeId node : nodes_) place_[node] = -1;
    edges_.clear();
    nodes_.assign(1, start);
    place_[start] = 0;
    while (true) {
      const NodeId here = nodes_.back();
      if (stop_at_sinks && excess_[here] < -tolerance_) return true;
      const EdgeId edge = next_edge(here);
      if (edge < 0) {
        if (edges_.empty()) return false;
        left_[edges_.back()] = 0;  // no more than rounding and tolerance leave: it arrived and cannot go on
        shorten(edges_.size() - 1);
        continue;
      }
      const NodeId to = other_end(graph_, edge, here);
      edges_.push_back(edge);
      if (place_[to] >= 0) {
        cancel_cycle(place_[to]);
      } else {
        place_[to] = static_cast<NodeId>(nodes_.size());
        nodes_.push_back(to);
      }
    }
  }

  // Keeps the first edges of the walk only.
  void shorten(size_t edges) {
    edges_.resize(edges);
    for (size_t i = edges + 1; i < nodes_.size(); ++i) place_[nodes_[i]] = -1;
    nodes_.resize(edges + 1);
  }

  // The least of what the edges from the first-th of the walk on carry.
  double carried(size_t first) const {
    double least = leaving(edges_[first], nodes_[first]);
    for (size_t i = first + 1; i < edges_.size(); ++i) {
      least = std::min(least, leaving(edges_[i], nodes_[i]));
    }
    return least;
  }

  void take_from_edges(size_t first, double amount) {
    for (size_t i = first; i < edges_.size(); ++i) {
      left_[edges_[i]] += graph_.tails()[edges_[i]] == nodes_[i] ? -amount : amount;
    }
  }

  void cancel_cycle(size_t first) {
    take_from_edges(first, carried(first));
    ++found_.cycles;
    shorten(first);
  }

  void take_path() {
    double& source = excess_[nodes_.front()];
    double& sink = excess_[nodes_.back()];
    const double amount = std::min({source, -sink, carried(0)});
    source -= amount;
    sink += amount;
    take_from_edges(0, amount);
    found_.paths.push_back({nodes_.front(), nodes_.back(), amount, edges_});
  }

  const Graph& graph_;
  Adjacency arcs_;
  double tolerance_;
  std::vector<double> left_;    // [E] of the flow
  std::vector<double> excess_;  // [N] what each node has yet to send; below 0: to receive
  std::vector<int64_t> next_;   // [N] the arc to look at next
  std::vector<NodeId> place_;   // [N] in nodes_, or -1
  std::vector<NodeId> nodes_;   // of the walk
  std::vector<EdgeId> edges_;   // of the walk
  FlowDecomposition found_;
};

void check_flow(const Graph& graph, std::span<const double> flow, double tolerance) {
  if (static_cast<int64_t>(flow.size()) != graph.num_edges()) {
    fail(fmt::format("flow: has {} values; the graph has {} edges", flow.size(), graph.num_edges()));
  }
  if (!(tolerance >= 0)) fail(fmt::format("flow: the tolerance must be at least 0, is {}", tolerance));
  for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
    const char* problem = !std::isfinite(flow[edge])           ? "which is not finite"
                          : graph.directed() && flow[edge] < 0 ? "against the direction of the graph"
                                                               : nullptr;
    if (problem != nullptr) {
      fail(fmt::format("flow: edge {} from {} to {} carries {}, {}", edge, graph.tails()[edge],
                       graph.heads()[edge], flow[edge], problem));
    }
  }
}

// -(S f)[node]
double sent_by(const Graph& graph, std::span<const double> flow, NodeId node) {
  double sent = 0;
  const auto add = [&](EdgeId edge) {
    sent += graph.tails()[edge] == node ? flow[edge] : 0;
    sent -= graph.heads()[edge] == node ? flow[edge] : 0;
  };
  for (const EdgeId edge : graph.out().edges_of(node)) add(edge);
  if (graph.directed()) {
    for (const EdgeId edge : graph.in().edges_of(node)) add(edge);
  }
  return sent;
}

}  // namespace

FlowDecomposition decompose_flow(const Graph& graph, std::span<const double> flow, double tolerance) {
  check_flow(graph, flow, tolerance);
  Decomposer decomposer(graph, flow, tolerance, false);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) decomposer.take_paths_from(node);
  decomposer.cancel_cycles();
  return decomposer.take();
}

FlowDecomposition paths_of_node(const Graph& graph, std::span<const double> flow, NodeId node,
                                double tolerance) {
  check_flow(graph, flow, tolerance);
  if (node < 0 || node >= graph.num_nodes()) {
    fail(fmt::format("flow: node {} is outside the graph of {} nodes", node, graph.num_nodes()));
  }
  const bool backwards = sent_by(graph, flow, node) < 0;
  Decomposer decomposer(graph, flow, tolerance, backwards);
  decomposer.take_paths_from(node);
  FlowDecomposition found = decomposer.take();
  if (!backwards) return found;
  for (FlowPath& path : found.paths) {
    std::swap(path.source, path.sink);
    std::reverse(path.edges.begin(), path.edges.end());
  }
  return found;
}

std::vector<NodeId> nodes_along(const Graph& graph, const FlowPath& path) {
  std::vector<NodeId> nodes{path.source};
  for (const EdgeId edge : path.edges) nodes.push_back(other_end(graph, edge, nodes.back()));
  return nodes;
}

}  // namespace qw
