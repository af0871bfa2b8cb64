#include "transport/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw::transport {
namespace {

constexpr int64_t kUnlabelled = -1;

std::vector<int64_t> rows_of_nodes(const Graph& graph, std::span<const NodeId> labelled) {
  std::vector<int64_t> row_of(graph.num_nodes(), kUnlabelled);
  for (size_t row = 0; row < labelled.size(); ++row) {
    const NodeId node = labelled[row];
    if (node < 0 || node >= graph.num_nodes()) {
      fail(fmt::format("labelled node {} is not one of the graph's {} nodes", node, graph.num_nodes()));
    }
    if (row_of[node] != kUnlabelled) fail(fmt::format("labelled node {} is named twice", node));
    row_of[node] = static_cast<int64_t>(row);
  }
  return row_of;
}

class DisjointSets {
 public:
  explicit DisjointSets(int64_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), NodeId{0});
  }
  NodeId find(NodeId node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(NodeId a, NodeId b) {
    a = find(a);
    b = find(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<NodeId> parent_;
};

class Cutter {
 public:
  Cutter(const Graph& graph, std::span<const NodeId> labelled)
      : graph_(graph), row_of_(rows_of_nodes(graph, labelled)), local_(graph.num_nodes(), kNoNode) {}

  std::vector<Piece> cut(double slack_cost) {
    place_nodes();
    place_edges();
    ground_pieces();
    if (std::isfinite(slack_cost)) add_slack(slack_cost);
    std::ranges::stable_sort(pieces_, std::ranges::greater{},
                             [](const Piece& p) { return p.network.num_edges(); });
    parallel_tasks(static_cast<int>(pieces_.size()), [&](int i) {
      Piece& piece = pieces_[i];
      piece.arcs = arcs_of(piece.network);
      piece.routes = routes_of(piece.network, piece.arcs);
    });
    return std::move(pieces_);
  }

 private:
  bool labelled(NodeId node) const { return row_of_[node] != kUnlabelled; }
  double cost(EdgeId edge) const { return graph_.costs().empty() ? 1.0 : graph_.costs()[edge]; }

  void place_nodes() {
    DisjointSets sets(graph_.num_nodes());
    for (EdgeId e = 0; e < graph_.num_edges(); ++e) {
      const NodeId head = graph_.heads()[e];
      const NodeId tail = graph_.tails()[e];
      if (labelled(head) && labelled(tail)) sets.join(head, tail);
    }
    piece_of_.assign(graph_.num_nodes(), kNoNode);
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      if (!labelled(node)) continue;
      const NodeId first = sets.find(node);  // the lowest of its set, so it has been placed before
      if (first == node) {
        piece_of_[node] = static_cast<int32_t>(pieces_.size());
        pieces_.emplace_back().network.directed = graph_.directed();
      }
      piece_of_[node] = piece_of_[first];
      Piece& piece = pieces_[piece_of_[node]];
      local_[node] = piece.network.num_nodes++;
      piece.rows.push_back(row_of_[node]);
    }
  }

  static void add_edge(Piece& piece, int32_t source, int32_t target, double cost, EdgeId edge) {
    piece.network.sources.push_back(source);
    piece.network.targets.push_back(target);
    piece.network.costs.push_back(cost);
    piece.edges.push_back(edge);
  }

  void reserve_edges() {
    std::vector<int64_t> counts(pieces_.size(), 0);
    for (EdgeId e = 0; e < graph_.num_edges(); ++e) {
      const int32_t piece = piece_of_[graph_.heads()[e]];
      if (piece != kNoNode) ++counts[piece];
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      Network& network = pieces_[i].network;
      network.sources.reserve(counts[i]);
      network.targets.reserve(counts[i]);
      network.costs.reserve(counts[i]);
      pieces_[i].edges.reserve(counts[i]);
    }
  }

  void place_edges() {
    reserve_edges();
    to_ground_.assign(graph_.num_nodes(), -1);
    if (graph_.directed()) from_ground_.assign(graph_.num_nodes(), -1);
    const auto keep_cheapest = [&](EdgeId& kept, EdgeId edge) {
      if (kept < 0 || cost(edge) < cost(kept)) kept = edge;
    };
    for (EdgeId e = 0; e < graph_.num_edges(); ++e) {
      const NodeId head = graph_.heads()[e];
      const NodeId tail = graph_.tails()[e];
      if (head == tail) continue;
      if (labelled(head) && labelled(tail)) {
        add_edge(pieces_[piece_of_[head]], local_[head], local_[tail], cost(e), e);
      } else if (labelled(head)) {
        keep_cheapest(to_ground_[head], e);
      } else if (labelled(tail)) {
        keep_cheapest(graph_.directed() ? from_ground_[tail] : to_ground_[tail], e);
      }
    }
  }

  void ground_pieces() {
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      for (const EdgeId edge : {to_ground_[node], graph_.directed() ? from_ground_[node] : EdgeId{-1}}) {
        if (edge < 0) continue;
        Piece& piece = pieces_[piece_of_[node]];
        Network& network = piece.network;
        if (network.ground == kNoNode) network.ground = network.num_nodes++;
        const bool away = graph_.heads()[edge] == node;
        add_edge(piece, away ? local_[node] : network.ground, away ? network.ground : local_[node],
                 cost(edge), edge);
      }
    }
  }

  void add_slack(double slack_cost) {
    for (Piece& piece : pieces_) {
      Network& network = piece.network;
      if (network.ground != kNoNode && !network.directed) continue;
      if (network.ground == kNoNode) network.ground = network.num_nodes++;
      for (int32_t node = 0; node < network.ground; ++node) {
        add_edge(piece, node, network.ground, slack_cost, -1);
        if (network.directed) add_edge(piece, network.ground, node, slack_cost, -1);
      }
    }
  }

  const Graph& graph_;
  std::vector<int64_t> row_of_;
  std::vector<int32_t> local_;
  std::vector<int32_t> piece_of_;
  std::vector<EdgeId> to_ground_;
  std::vector<EdgeId> from_ground_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> pieces_of(const Graph& graph, std::span<const NodeId> labelled, double slack_cost) {
  return Cutter(graph, labelled).cut(slack_cost);
}

}  // namespace qw::transport
