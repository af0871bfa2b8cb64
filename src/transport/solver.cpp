#include "transport/solver.h"

#include <fmt/format.h>

#include "qw/core/error.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

const char* takes_all(const Network&, std::span<const double>) { return nullptr; }

std::vector<Solver>& table() {
  static std::vector<Solver> all{
      {"network-simplex", "primal network simplex; remembers its spanning tree", true, takes_all,
       solve_network_simplex},
      {"cost-scaling", "cost-scaling push-relabel; stops at a gap", true, refuses_cost_scaling,
       solve_cost_scaling},
      {"max-flow", "by a maximum flow, where all costs are equal and every node has an unlabelled neighbour",
       true, refuses_max_flow, solve_max_flow},
      {"primal-dual", "first-order steps on all cores, for a gap of 1e-6 or more", false, refuses_primal_dual,
       solve_primal_dual},
  };
  return all;
}

}  // namespace

std::span<const Solver> solvers() { return table(); }

void add_solver(const Solver& solver) { table().push_back(solver); }

const Solver& solver_named(const std::string& name) {
  std::string known;
  for (const Solver& solver : solvers()) {
    if (name == solver.name) return solver;
    known += (known.empty() ? "" : ", ") + std::string(solver.name);
  }
  fail_usage(fmt::format("transport solver '{}' is unknown; known: auto, {}", name, known));
}

// Measured on random and citation-like graphs (docs/benchmarks.md). With a ground the starting tree of the
// simplex is nearly optimal; without one its pivots grow faster than the phases of cost scaling; and beyond
// some millions of edges only first-order steps come near in time, though not to the last digit.
const Solver& choose_solver(const Network& network, std::span<const double> supply, const Limits& limits) {
  constexpr int64_t kManyEdges = 3'000'000;
  constexpr int64_t kEdgesForMaxFlow = 300'000;
  const int64_t edges_for_scaling = network.ground == kNoNode ? 300'000 : 600'000;
  const bool may_stop_early = limits.gap > 0 || limits.deadline.comes();
  const int64_t edges = network.num_edges();
  if (edges >= kEdgesForMaxFlow && refuses_max_flow(network, supply) == nullptr)
    return solver_named("max-flow");
  if (edges >= kManyEdges && may_stop_early && refuses_primal_dual(network, supply) == nullptr) {
    return solver_named("primal-dual");
  }
  if (edges >= edges_for_scaling && refuses_cost_scaling(network, supply) == nullptr) {
    return solver_named("cost-scaling");
  }
  return solver_named("network-simplex");
}

}  // namespace qw::transport
