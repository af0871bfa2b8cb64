#include "transport/refine.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "transport/integers.h"
#include "transport/solvers/simplex.h"
#include "transport/solvers/starting_tree.h"

namespace qw::transport {
namespace {

constexpr int kMostRounds = 4;

double largest_cost(const Network& network, std::span<const int64_t> edges) {
  double largest = 0;
  for (const int64_t e : edges) largest = std::max(largest, network.costs[e]);
  return largest;
}

std::vector<int64_t> edges_with_flow(std::span<const Wide> flow) {
  std::vector<int64_t> edges;
  for (size_t e = 0; e < flow.size(); ++e) {
    if (flow[e] != 0) edges.push_back(static_cast<int64_t>(e));
  }
  return edges;
}

void take_better(Certified&& found, Certified& best) {
  if (found.upper <= best.upper) {
    best.upper = found.upper;
    best.flow = std::move(found.flow);
    best.primal_residual = found.primal_residual;
  }
  if (found.lower >= best.lower) {
    best.lower = std::min(found.lower, best.upper);
    best.potential = std::move(found.potential);
    best.dual_violation = found.dual_violation;
  }
}

}  // namespace

bool is_closed(const Certified& certified, double gap) {
  return std::isfinite(certified.upper) && certified.upper - certified.lower <= gap * certified.upper;
}

// A flow that pays at most M for an edge cannot be made cheaper by a cycle over an edge that costs more than
// nodes * M. Such edges are taken for that price: the optimum stays, and the integers resolve smaller costs.
bool refine(const Network& network, const Arcs& arcs, const Supply& supply, std::vector<int64_t> used,
            double gap, const Deadline& deadline, Certified& certified) {
  double most_used = largest_cost(network, used);
  Memory memory;
  memory.basis = std::move(used);
  for (int round = 0; round < kMostRounds && !is_closed(certified, gap); ++round) {
    const double most_cost = most_used * network.num_nodes;
    const WideIntegers integers = wide_integers_of(network, supply, most_cost);
    const StartingTree<Wide> tree = starting_tree<Wide>(network, arcs, integers, memory);
    Simplex<Wide, Wide> simplex(network, integers, tree, deadline);
    if (!simplex.run()) return false;
    const std::vector<Wide> flow = simplex.flow();
    std::optional<Certified> found = certify_optimum(network, supply, integers, flow, simplex.potential());
    if (!found) break;
    take_better(std::move(*found), certified);
    memory.basis = simplex.basis();
    const double now_used = largest_cost(network, edges_with_flow(flow));
    if (now_used == most_used) break;
    most_used = now_used;
  }
  return true;
}

}  // namespace qw::transport
