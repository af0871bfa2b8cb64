#include "transport/solvers/starting_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace qw::transport {
namespace {

class DisjointSets {
 public:
  explicit DisjointSets(int32_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }

  bool unite(int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    parents_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }

 private:
  int32_t find(int32_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }

  std::vector<int32_t> parents_;
};

// What of the memory's edges is a forest of this network; completed to a spanning one when the network is
// undirected.
std::vector<int64_t> remembered_forest(const Network& network, const Memory& memory) {
  const int64_t count = network.num_edges();
  DisjointSets sets(network.num_nodes);
  std::vector<int64_t> forest;
  const auto add = [&](int64_t e) {
    if (e >= 0 && e < count && sets.unite(network.sources[e], network.targets[e])) forest.push_back(e);
  };
  for (const int64_t e : memory.basis) add(e);
  if (network.directed || forest.empty()) return forest;
  for (int64_t e = 0; e < count && static_cast<int64_t>(forest.size()) + 1 < network.num_nodes; ++e) add(e);
  return forest;
}

// Edges of a breadth-first tree from the ground.
std::vector<int64_t> ways_to_ground(const Network& network, const Arcs& arcs) {
  std::vector<int64_t> edges;
  std::vector<bool> seen(network.num_nodes, false);
  std::vector<int32_t> order = {network.ground};
  seen[network.ground] = true;
  for (size_t i = 0; i < order.size(); ++i) {
    for (int64_t k = arcs.offsets[order[i]]; k < arcs.offsets[order[i] + 1]; ++k) {
      if (seen[arcs.ends[k]]) continue;
      seen[arcs.ends[k]] = true;
      order.push_back(arcs.ends[k]);
      edges.push_back(arcs.arcs[k] / 2);
    }
  }
  return edges;
}

// Hangs the pieces of a forest from the root, the ground's first.
template <class Int>
StartingTree<Int> hang(const Network& network, const std::vector<int64_t>& forest) {
  const int32_t root = network.num_nodes;
  std::vector<int64_t> offsets(root + 1, 0);
  for (const int64_t e : forest) {
    ++offsets[network.sources[e]];
    ++offsets[network.targets[e]];
  }
  std::inclusive_scan(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int64_t> incident(2 * forest.size());
  for (const int64_t e : forest) {
    incident[--offsets[network.sources[e]]] = e;
    incident[--offsets[network.targets[e]]] = e;
  }

  StartingTree<Int> tree;
  tree.order.reserve(root + 1);
  tree.order.push_back(root);
  tree.parents.assign(root + 1, kNoNode);
  tree.edges.assign(root + 1, -1);
  const auto add = [&](int32_t parent, int32_t node, int64_t edge) {
    tree.parents[node] = parent;
    tree.edges[node] = edge;
    tree.order.push_back(node);
  };
  const auto grow = [&](int32_t from) {
    if (tree.edges[from] >= 0) return;
    size_t i = tree.order.size();
    add(root, from, network.num_edges() + from);
    for (; i < tree.order.size(); ++i) {
      const int32_t node = tree.order[i];
      for (int64_t k = offsets[node]; k < offsets[node + 1]; ++k) {
        const int64_t edge = incident[k];
        if (edge == tree.edges[node]) continue;
        add(node, network.sources[edge] == node ? network.targets[edge] : network.sources[edge], edge);
      }
    }
  };
  if (network.ground != kNoNode) grow(network.ground);
  for (int32_t v = 0; v < root; ++v) grow(v);
  return tree;
}

// Whether the tree edge of `node` leads upwards: by its direction, or, when it may be used both ways, by the
// potentials.
template <class Int>
bool leads_up(const Network& network, const StartingTree<Int>& tree, const Memory& memory, int32_t node) {
  if (network.directed) return network.sources[tree.edges[node]] == node;
  return memory.potential[node] >= memory.potential[tree.parents[node]];
}

// The potentials, in integers, that the memory's tree and potential stand for; empty when some edge does not
// allow them.
template <class Int>
std::vector<Int> remembered_potentials(const Network& network, const ScaledNumbers<Int>& integers,
                                       const Memory& memory, const StartingTree<Int>& tree) {
  std::vector<Int> result;
  if (memory.potential.size() != static_cast<size_t>(network.num_nodes) || integers.costs.empty())
    return result;
  const Int largest = *std::max_element(integers.costs.begin(), integers.costs.end());
  const double bound = 0.5 * static_cast<double>(network.num_nodes) * static_cast<double>(largest);
  const double zero = memory.potential[tree.order[1]];
  result.assign(network.num_nodes, 0);
  for (size_t i = 1; i < tree.order.size(); ++i) {
    const int32_t node = tree.order[i];
    const int64_t edge = tree.edges[node];
    if (edge < network.num_edges()) {
      const Int cost = integers.costs[edge];
      result[node] = result[tree.parents[node]] + (leads_up(network, tree, memory, node) ? cost : -cost);
    } else {
      const double value = (memory.potential[node] - zero) / integers.cost_unit;
      if (std::fabs(value) <= bound) result[node] = static_cast<Int>(std::round(value));
    }
  }
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    const Int down = result[network.sources[e]] - result[network.targets[e]];
    if ((network.directed || down >= 0 ? down : -down) > integers.costs[e]) return {};
  }
  return result;
}

// Routes the supplies over the tree. `fits(node)` says whether the tree edge of the node can carry its flow;
// where not, the artificial edge takes its place.
template <class Int, class Fits>
void route(const Network& network, const ScaledNumbers<Int>& integers, StartingTree<Int>& tree, Fits&& fits) {
  tree.flows.assign(integers.supplies.begin(), integers.supplies.end());
  tree.flows.push_back(0);
  for (size_t i = tree.order.size(); i-- > 1;) {
    const int32_t node = tree.order[i];
    if (tree.edges[node] < network.num_edges() && !fits(node)) {
      tree.parents[node] = network.num_nodes;
      tree.edges[node] = network.num_edges() + node;
    }
    tree.flows[tree.parents[node]] += tree.flows[node];
  }
}

}  // namespace

template <class Int>
StartingTree<Int> starting_tree(const Network& network, const Arcs& arcs, const ScaledNumbers<Int>& integers,
                                const Memory& memory) {
  std::vector<int64_t> forest = remembered_forest(network, memory);
  const bool remembers = !forest.empty();
  if (!remembers && network.ground != kNoNode) forest = ways_to_ground(network, arcs);
  StartingTree<Int> tree = hang<Int>(network, forest);
  if (remembers) tree.bases = remembered_potentials(network, integers, memory, tree);
  const bool by_potential = !tree.bases.empty();
  route(network, integers, tree, [&](int32_t node) {
    if (!network.directed && (!by_potential || integers.costs[tree.edges[node]] == 0)) return true;
    return leads_up(network, tree, memory, node) == (tree.flows[node] >= 0);
  });
  if (!by_potential) tree.bases.assign(network.num_nodes, 0);
  return tree;
}

template StartingTree<int64_t> starting_tree(const Network&, const Arcs&, const ScaledNumbers<int64_t>&,
                                             const Memory&);
template StartingTree<Wide> starting_tree(const Network&, const Arcs&, const ScaledNumbers<Wide>&,
                                          const Memory&);

}  // namespace qw::transport
