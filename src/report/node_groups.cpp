#include "report/node_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/text.h"
#include "qw/report/paired.h"

namespace qw {
namespace {

constexpr int kFarthest = 6;                   // edges; all beyond are one group
constexpr double kNormal = 1.959963984540054;  // 97.5 % of a normal distribution lie below it
constexpr int64_t kManyNodes = 1000;           // from which Student's t is the normal distribution

// Calls visit(neighbour) for the ends of all edges at a node, whatever their direction.
template <class Visit>
void each_neighbour(const Graph& graph, NodeId node, const Visit& visit) {
  for (const NodeId other : graph.out().neighbours_of(node)) visit(other);
  if (!graph.directed()) return;
  for (const NodeId other : graph.in().neighbours_of(node)) visit(other);
}

}  // namespace

GroupMean wilson(int64_t nodes, double share) {
  const auto n = static_cast<double>(nodes);
  const double shrunk = 1 / (1 + kNormal * kNormal / n);
  const double middle = shrunk * (share + kNormal * kNormal / (2 * n));
  const double half = shrunk * kNormal * std::sqrt(share * (1 - share) / n + kNormal * kNormal / (4 * n * n));
  return {nodes, share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

NodeGroups group_by_degree(const Graph& graph, std::span<const NodeId> nodes) {
  NodeGroups groups{"degree", "neighbours", {}, {}};
  int last = 0;
  for (const NodeId node : nodes) {
    const size_t degree = graph.out().degree(node) + (graph.directed() ? graph.in().degree(node) : 0);
    groups.of_node.push_back(static_cast<int>(std::bit_width(degree)));
    last = std::max(last, groups.of_node.back());
  }
  groups.names = {"0", "1"};
  for (int k = 2; k <= last; ++k) {
    const int64_t low = int64_t{1} << (k - 1);
    groups.names.push_back(fmt::format("{} to {}", with_thousands(low), with_thousands(2 * low - 1)));
  }
  return groups;
}

NodeGroups group_by_homophily(const Graph& graph, const Targets& targets, std::span<const NodeId> nodes) {
  NodeGroups groups{"neighbours of its class",
                    "share",
                    {"none", "up to 25 %", "25 to 50 %", "50 to 75 %", "75 to 100 %", "all"},
                    {}};
  for (const NodeId node : nodes) {
    int64_t labelled = 0, alike = 0;
    each_neighbour(graph, node, [&](NodeId other) {
      if (other == node || targets.classes[other] < 0) return;
      ++labelled;
      alike += targets.classes[other] == targets.classes[node];
    });
    int group = labelled == 0 || targets.classes[node] < 0 ? -1 : 0;
    if (group == 0 && alike > 0) group = alike == labelled ? 5 : 1 + static_cast<int>(4 * alike / labelled);
    groups.of_node.push_back(group);
  }
  return groups;
}

std::vector<int> distances_from(const Graph& graph, std::span<const NodeId> sources) {
  std::vector<int> distance(graph.num_nodes(), -1);
  std::vector<NodeId> queue;
  queue.reserve(graph.num_nodes());
  for (const NodeId node : sources) {
    if (distance[node] == 0) continue;
    distance[node] = 0;
    queue.push_back(node);
  }
  for (size_t next = 0; next < queue.size(); ++next) {
    each_neighbour(graph, queue[next], [&](NodeId other) {
      if (distance[other] >= 0) return;
      distance[other] = distance[queue[next]] + 1;
      queue.push_back(other);
    });
  }
  return distance;
}

NodeGroups group_by_distance(const Graph& graph, std::span<const NodeId> sources,
                             std::span<const NodeId> nodes) {
  NodeGroups groups{"distance to training labels", "edges", {}, {}};
  for (int k = 0; k < kFarthest; ++k) groups.names.push_back(fmt::format("{}", k));
  groups.names.push_back(fmt::format("{} or more", kFarthest));
  groups.names.emplace_back("unreachable");
  const std::vector<int> distance = distances_from(graph, sources);
  for (const NodeId node : nodes)
    groups.of_node.push_back(distance[node] < 0 ? kFarthest + 1 : std::min(distance[node], kFarthest));
  return groups;
}

std::vector<GroupMean> group_means(const NodeGroups& groups, std::span<const double> values,
                                   bool are_shares) {
  struct Sums {
    int64_t count = 0;
    double sum = 0, squares = 0;
  };
  std::vector<Sums> sums(groups.names.size());
  for (const bool around_mean : {false, true}) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (groups.of_node[i] < 0 || std::isnan(values[i])) continue;
      Sums& at = sums[groups.of_node[i]];
      const double apart = around_mean ? values[i] - at.sum / static_cast<double>(at.count) : 0;
      at.squares += apart * apart;
      if (around_mean) continue;
      ++at.count;
      at.sum += values[i];
    }
  }
  std::vector<GroupMean> means;
  for (const Sums& at : sums) {
    const auto n = static_cast<double>(at.count);
    const double mean = at.count == 0 ? std::nan("") : at.sum / n;
    if (at.count > 0 && are_shares) {
      means.push_back(wilson(at.count, mean));
    } else if (at.count < 2) {
      means.push_back({at.count, mean, std::nan(""), std::nan("")});
    } else {
      const double t = at.count > kManyNodes ? kNormal : student_t(0.95, at.count - 1);
      const double half = t * std::sqrt(at.squares / (n - 1) / n);
      means.push_back({at.count, mean, mean - half, mean + half});
    }
  }
  return means;
}

}  // namespace qw
