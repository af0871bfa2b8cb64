// What a person wants to know about a graph before learning on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// Connected components (weakly, in a directed graph), numbered by their smallest node.
struct Components {
  int64_t count = 0;            // of components
  std::vector<NodeId> of_node;  // [N]
};
Components connected_components(const Graph& graph);

// Degrees count arcs that leave plus, in a directed graph, arcs that enter.
struct DegreeStatistics {
  int64_t isolated = 0;  // nodes of degree 0
  int64_t smallest = 0;  // degree of any node
  int64_t largest = 0;   // degree of any node
  double mean = 0;       // over all nodes
  double median = 0;     // over all nodes
};
DegreeStatistics degree_statistics(const Graph& graph);

// The share of edges whose ends have the same class, among edges with both classes known; nothing when there
// is none.
std::optional<double> intra_edge_rate(const Graph& graph, const Targets& targets);

// Nodes that share all their neighbours (in a directed graph: in both directions) and their target with
// another node. Isolated nodes and, where there are targets, unlabelled ones do not count. Such nodes leak
// from train to test.
int64_t duplicate_nodes(const Graph& graph, const Targets& targets);

// Nodes per class.
std::vector<int64_t> class_counts(const Targets& targets);

}  // namespace qw
