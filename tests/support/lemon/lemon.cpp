#include "lemon.h"

#include <bit>

#include "lemon_bridge.h"
#include "transport/integers.h"

namespace qw::transport {
namespace {

using lemon_bridge::Method;
using lemon_bridge::Problem;
using lemon_bridge::Solution;

constexpr int64_t kMostEdges = int64_t{1}
                               << 28;    // LEMON counts residual arcs, four per undirected edge, with an int
constexpr int32_t kMostNodes = 1 << 26;  // and 16 times the nodes

// How many bits the costs may have, so that LEMON's potentials stay below 2^62.
int cost_bits(const Network& network, Method method) {
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes) + 1);
  // Network simplex adds up to N costs to its artificial 2^62.
  if (method == Method::kNetworkSimplex) return 60 - node_bits;
  // Cost scaling multiplies costs by 16 (N + 1), and its phases move a potential by less than 4 N of the
  // largest in all.
  return 62 - 4 - 2 - 2 * node_bits;
}

struct Model {
  Problem problem;
  std::vector<int64_t> ids;  // of every arc, as `Arcs` numbers them; -1 for the ways out
};

// With ways out over an extra node, which alone cost anything, a best flow is one that leaves the least
// unrouted.
Model model_of(const Network& network, const Arcs& arcs, const Integers& integers, bool ways_out) {
  Model model;
  const auto add = [&](int32_t source, int32_t target, int64_t cost, int64_t id) {
    model.problem.arcs.emplace_back(source, target);
    model.problem.costs.push_back(cost);
    model.ids.push_back(id);
  };
  const int32_t extra = network.num_nodes;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    for (int64_t k = arcs.offsets[v]; k < arcs.offsets[v + 1]; ++k) {
      const int64_t id = arcs.arcs[k];
      if (network.directed && id % 2 == 1) continue;
      add(v, arcs.ends[k], ways_out ? 0 : integers.costs[id / 2], id);
    }
    if (ways_out) add(v, extra, 1, -1);
  }
  model.problem.num_nodes = network.num_nodes + (ways_out ? 1 : 0);
  model.problem.supplies = integers.supplies;
  if (!ways_out) return model;
  model.problem.supplies.push_back(0);
  for (int32_t v = 0; v < network.num_nodes; ++v) add(extra, v, 0, -1);
  return model;
}

std::vector<double> edge_flow(const Network& network, const Model& model, const Solution& solution,
                              double unit) {
  std::vector<double> result(network.num_edges(), 0.0);
  for (size_t a = 0; a < model.ids.size(); ++a) {
    const int64_t id = model.ids[a];
    if (id < 0) continue;
    result[id / 2] += static_cast<double>(id % 2 == 0 ? solution.flow[a] : -solution.flow[a]) * unit;
  }
  return result;
}

Answer route_the_most(const Network& network, const Arcs& arcs, const Integers& integers) {
  const Model model = model_of(network, arcs, integers, true);
  const Solution solution = lemon_bridge::solve(model.problem, Method::kNetworkSimplex);
  Answer answer{Outcome::kInfeasible, edge_flow(network, model, solution, integers.supply_unit),
                std::vector<double>(network.num_nodes, 0.0), 0};
  int64_t unrouted = 0;
  for (size_t a = 0; a < model.ids.size(); ++a) unrouted += model.problem.costs[a] * solution.flow[a];
  answer.unrouted = static_cast<double>(unrouted) * integers.supply_unit;
  return answer;
}

Answer solve(const Network& network, const Arcs& arcs, std::span<const double> supply, Method method) {
  if (network.num_nodes < 2) return {Outcome::kSolved, {}, std::vector<double>(network.num_nodes, 0.0), 0};
  const Integers integers = integers_of(network, supply, cost_bits(network, method));
  const Model model = model_of(network, arcs, integers, false);
  const Solution solution = lemon_bridge::solve(model.problem, method);
  if (!solution.feasible) return route_the_most(network, arcs, integers);
  Answer answer;
  answer.flow = edge_flow(network, model, solution, integers.supply_unit);
  answer.potential.resize(network.num_nodes);
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    answer.potential[v] = static_cast<double>(solution.potential[v]) * integers.cost_unit;
  }
  return answer;
}

}  // namespace

const char* refuses_lemon(const Network& network, std::span<const double>) {
  if (network.num_edges() > kMostEdges) return "LEMON takes at most 2^28 edges";
  if (network.num_nodes > kMostNodes) return "LEMON takes at most 2^26 nodes";
  return nullptr;
}

Answer solve_lemon_network_simplex(const Network& network, const Arcs& arcs, std::span<const double> supply,
                                   const Limits&, Memory&) {
  return solve(network, arcs, supply, Method::kNetworkSimplex);
}

Answer solve_lemon_cost_scaling(const Network& network, const Arcs& arcs, std::span<const double> supply,
                                const Limits&, Memory&) {
  return solve(network, arcs, supply, Method::kCostScaling);
}

namespace {

const bool kAdded = [] {
  add_solver({"lemon-simplex", "LEMON's network simplex", true, refuses_lemon, solve_lemon_network_simplex});
  add_solver({"lemon-scaling", "LEMON's cost scaling", true, refuses_lemon, solve_lemon_cost_scaling});
  return true;
}();

}  // namespace
}  // namespace qw::transport
