#include <algorithm>
#include <bit>

#include "transport/integers.h"
#include "transport/solvers/simplex.h"
#include "transport/solvers/solvers.h"
#include "transport/solvers/starting_tree.h"

namespace qw::transport {
namespace {

constexpr int kLargestCostBits = 52;

template <class Value>
Answer answer_of(const Network& network, const Simplex<Value, int64_t>& simplex, const Integers& integers) {
  Answer answer;
  answer.flow.resize(network.num_edges());
  const std::vector<int64_t> flow = simplex.flow();
  for (size_t e = 0; e < flow.size(); ++e)
    answer.flow[e] = static_cast<double>(flow[e]) * integers.supply_unit;
  answer.unrouted = static_cast<double>(simplex.unrouted()) * integers.supply_unit;

  const std::vector<Value> potential = simplex.potential();
  answer.potential.resize(network.num_nodes);
  double mean = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    answer.potential[v] = static_cast<double>(potential[v]) * integers.cost_unit;
    mean += answer.potential[v] / network.num_nodes;
  }
  if (network.ground == kNoNode) {
    for (double& value : answer.potential) value -= mean;
  }
  return answer;
}

template <class Value>
Answer solve_with(const Network& network, const Integers& integers, const StartingTree<int64_t>& tree,
                  const Limits& limits, Memory& memory) {
  Simplex<Value, int64_t> simplex(network, integers, tree, limits.deadline);
  const bool finished = simplex.run();
  Answer answer = answer_of(network, simplex, integers);
  memory.basis = simplex.basis();
  memory.potential = answer.potential;
  if (!finished) {
    answer.outcome = Outcome::kStopped;
  } else if (answer.unrouted > 0) {
    answer.outcome = Outcome::kInfeasible;
  }
  return answer;
}

}  // namespace

Answer solve_network_simplex(const Network& network, const Arcs& arcs, std::span<const double> supply,
                             const Limits& limits, Memory& memory) {
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes));
  const Integers integers = integers_of(network, supply, std::min(kLargestCostBits, 59 - node_bits));
  const StartingTree<int64_t> tree = starting_tree(network, arcs, integers, memory);
  int64_t largest = 0;
  for (const int64_t cost : integers.costs) largest = std::max(largest, cost);
  const bool narrow = std::bit_width(static_cast<uint64_t>(largest)) + node_bits + 4 <= 31;
  return narrow ? solve_with<int32_t>(network, integers, tree, limits, memory)
                : solve_with<int64_t>(network, integers, tree, limits, memory);
}

}  // namespace qw::transport
