// Nodes in groups, and how good predictions are among them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qw/graph/graph.h"
#include "qw/graph/targets.h"

namespace qw {

struct NodeGroups {
  std::string by;                  // what divides them: "degree"
  std::string unit;                // of the names: "neighbours"
  std::vector<std::string> names;  // of the groups, in order
  std::vector<int> of_node;        // the group of each node that was asked for; -1: none
};

// By how many neighbours a node has; widths double.
NodeGroups group_by_degree(const Graph& graph, std::span<const NodeId> nodes);
// By the share of a node's neighbours with a class that have its own. The direction of edges does not count.
NodeGroups group_by_homophily(const Graph& graph, const Targets& targets, std::span<const NodeId> nodes);
// By how many edges lead to the nearest of `sources`, whatever their direction.
NodeGroups group_by_distance(const Graph& graph, std::span<const NodeId> sources,
                             std::span<const NodeId> nodes);

// [N] edges to the nearest source, whatever their direction; -1: no way.
std::vector<int> distances_from(const Graph& graph, std::span<const NodeId> sources);

// The mean of some nodes' values with its 95 % interval: Wilson's of shares, whose values are 0 or 1, else by
// Student's t, NaN for one value alone.
struct GroupMean {
  int64_t nodes = 0;
  double mean = 0, low = 0, high = 0;  // NaN of no nodes
};
// Of a share of at least one node; the interval holds it and is within [0, 1].
GroupMean wilson(int64_t nodes, double share);
// Of each group; values [n] that are NaN do not count.
std::vector<GroupMean> group_means(const NodeGroups& groups, std::span<const double> values, bool are_shares);

}  // namespace qw
