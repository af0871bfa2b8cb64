// A graph and its labelled nodes as networks that can be solved apart.
//
// A network sends what the graph receives: its edges run from head to tail and a node's supply is gamma - mu,
// so that flow and potential of the network are those of the graph without a change of sign.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qw/graph/graph.h"
#include "transport/certificate.h"
#include "transport/network.h"

namespace qw::transport {

struct Piece {
  Network network;  // its ground, where it has one, is the last node
  Arcs arcs;
  Routes routes;
  std::vector<int64_t> rows;  // per constrained node: its position in `labelled`
  std::vector<EdgeId> edges;  // per network edge: the graph's; -1: slack
};

// Components of the graph without its unlabelled nodes, largest first, each with a ground if one of its nodes
// has an unlabelled neighbour. Self-loops and edges between unlabelled nodes carry nothing and are left out.
// With a finite slack cost every piece without a ground gets one, and every node an edge to it; in a directed
// graph every node gets one each way.
std::vector<Piece> pieces_of(const Graph& graph, std::span<const NodeId> labelled, double slack_cost);

}  // namespace qw::transport
