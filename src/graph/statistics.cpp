#include "qw/graph/statistics.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "qw/core/random.h"

namespace qw {
namespace {

int64_t total_degree(const Graph& graph, NodeId node) {
  const auto out = static_cast<int64_t>(graph.out().degree(node));
  return graph.directed() ? out + static_cast<int64_t>(graph.in().degree(node)) : out;
}

// The target as a number that is equal for equal targets only (classes) or nearly only (values).
uint64_t target_key(const Targets& targets, NodeId node) {
  if (targets.task == Task::kNone) return 0;
  if (targets.task == Task::kClassification) return static_cast<uint64_t>(targets.classes[node]);
  uint64_t key = 0;
  for (int64_t k = 0; k < targets.width; ++k) {
    const auto bits = std::bit_cast<uint64_t>(targets.values[node * targets.width + k]);
    key = RandomStream(key, static_cast<uint64_t>(k)).bits(bits);
  }
  return key;
}

// Order-free hash of a neighbourhood and the node's target; equal nodes have equal hashes.
uint64_t neighbourhood_hash(const Graph& graph, const Targets& targets, NodeId node) {
  constexpr RandomStream kOut(1, 0), kIn(2, 0), kTarget(3, 0);
  uint64_t hash = kTarget.bits(target_key(targets, node));
  for (const NodeId neighbour : graph.out().neighbours_of(node)) hash += kOut.bits(neighbour);
  if (graph.directed()) {
    for (const NodeId neighbour : graph.in().neighbours_of(node)) hash += kIn.bits(neighbour);
  }
  return hash;
}

bool twins(const Graph& graph, const Targets& targets, NodeId a, NodeId b) {
  const auto same = [&](const Adjacency& side) {
    return std::ranges::equal(side.neighbours_of(a), side.neighbours_of(b));
  };
  return same(graph.out()) && same(graph.in()) && target_key(targets, a) == target_key(targets, b);
}

}  // namespace

Components connected_components(const Graph& graph) {
  std::vector<NodeId> parent(graph.num_nodes());
  std::iota(parent.begin(), parent.end(), NodeId{0});
  const auto root = [&](NodeId node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  for (int64_t e = 0; e < graph.num_edges(); ++e) {
    const NodeId a = root(graph.heads()[e]);
    const NodeId b = root(graph.tails()[e]);
    if (a != b) parent[std::max(a, b)] = std::min(a, b);
  }
  Components components;
  components.of_node.resize(parent.size());
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const NodeId top = root(node);
    components.of_node[node] =
        top == node ? static_cast<NodeId>(components.count++) : components.of_node[top];
  }
  return components;
}

DegreeStatistics degree_statistics(const Graph& graph) {
  DegreeStatistics statistics;
  const int64_t nodes = graph.num_nodes();
  if (nodes == 0) return statistics;
  std::vector<int64_t> degrees(nodes);
  for (NodeId node = 0; node < nodes; ++node) degrees[node] = total_degree(graph, node);
  std::sort(degrees.begin(), degrees.end());
  statistics.isolated = std::upper_bound(degrees.begin(), degrees.end(), 0) - degrees.begin();
  statistics.smallest = degrees.front();
  statistics.largest = degrees.back();
  statistics.mean = static_cast<double>(std::accumulate(degrees.begin(), degrees.end(), int64_t{0})) /
                    static_cast<double>(nodes);
  statistics.median = 0.5 * static_cast<double>(degrees[(nodes - 1) / 2] + degrees[nodes / 2]);
  return statistics;
}

std::optional<double> intra_edge_rate(const Graph& graph, const Targets& targets) {
  if (targets.task != Task::kClassification) return std::nullopt;
  int64_t known = 0;
  int64_t same = 0;
  for (int64_t e = 0; e < graph.num_edges(); ++e) {
    const int32_t a = targets.classes[graph.heads()[e]];
    const int32_t b = targets.classes[graph.tails()[e]];
    known += a >= 0 && b >= 0;
    same += a >= 0 && a == b;
  }
  if (known == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(known);
}

int64_t duplicate_nodes(const Graph& graph, const Targets& targets) {
  std::unordered_map<uint64_t, std::vector<NodeId>> by_hash;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const bool comparable = targets.task == Task::kNone || targets.known(node);
    if (comparable && total_degree(graph, node) > 0)
      by_hash[neighbourhood_hash(graph, targets, node)].push_back(node);
  }
  int64_t count = 0;
  for (const auto& [hash, members] : by_hash) {
    if (members.size() < 2) continue;
    // Members of one hash are twins but for collisions: compare each with a representative of its kind.
    std::vector<std::pair<NodeId, int64_t>> kinds;
    for (const NodeId node : members) {
      const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const auto& k) { return twins(graph, targets, k.first, node); });
      if (kind == kinds.end()) {
        kinds.emplace_back(node, 1);
      } else {
        ++kind->second;
      }
    }
    for (const auto& [representative, size] : kinds) count += size > 1 ? size : 0;
  }
  return count;
}

std::vector<int64_t> class_counts(const Targets& targets) {
  std::vector<int64_t> counts(targets.task == Task::kClassification ? targets.width : 0, 0);
  for (const int32_t label : targets.classes) {
    if (label >= 0) ++counts[label];
  }
  return counts;
}

}  // namespace qw
