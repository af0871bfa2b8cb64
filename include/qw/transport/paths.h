// A flow as paths: who sends to whom, how much, and by which edges.
//
// Flow f > 0 on edge e leaves tails()[e] and arrives at heads()[e]; f < 0, on undirected graphs only, goes
// the other way. A node that sends more than it receives, (S f)[v] < 0, is a source, one that receives more
// a sink. Every flow is a sum of paths from sources to sinks, each of which carries its amount in the
// direction of the flow, and of cycles, which bring nothing to anybody. Which paths is not unique unless the
// edges that carry flow form a forest; here it is the same for the same flow, and a path ends at the first
// sink on its way that still takes something.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"

namespace QW_PUBLIC qw {

// What moves from one source to one sink along one path.
struct FlowPath {
  NodeId source = -1;         // where it begins
  NodeId sink = -1;           // where it ends
  double amount = 0;          // > 0
  std::vector<EdgeId> edges;  // from source to sink; no node is visited twice
};

// A flow as a sum of paths.
struct FlowDecomposition {
  std::vector<FlowPath> paths;  // by source, ascending
  int64_t cycles = 0;           // that were met and cancelled
};

// All of a flow [E]: every source's paths, sources ascending. At each source the amounts sum to
// -(S f)[source], at each sink to (S f)[sink]; edges, amounts and differences of at most `tolerance` count as
// nothing.
//
// O(N + E + length of all paths and cycles) time. Throws qw::Error on a flow of another size, a value that is
// not finite, a negative one in a directed graph, and a negative tolerance.
FlowDecomposition decompose_flow(const Graph& graph, std::span<const double> flow, double tolerance = 0);

// Only the paths that begin at the node, when it is a source, or end there, when it is a sink: their amounts
// sum to |(S f)[node]|. They are part of some decomposition of the whole flow, not of the one above. Throws
// also on a node outside the graph.
FlowDecomposition paths_of_node(const Graph& graph, std::span<const double> flow, NodeId node,
                                double tolerance = 0);

// The nodes along a path, from source to sink: one more than edges.
std::vector<NodeId> nodes_along(const Graph& graph, const FlowPath& path);

}  // namespace qw
