#include "lemon_bridge.h"

#include <lemon/cost_scaling.h>
#include <lemon/maps.h>
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

namespace qw::transport::lemon_bridge {
namespace {

using lemon::StaticDigraph;

// A vector as LEMON's map, by the ids of nodes or arcs.
template <class Item>
struct ById {
  using Key = Item;
  using Value = int64_t;
  const std::vector<int64_t>* values;
  int64_t operator[](Item item) const { return (*values)[StaticDigraph::id(item)]; }
};

template <class Algorithm>
Solution run(const Problem& problem) {
  StaticDigraph graph;
  graph.build(problem.num_nodes, problem.arcs.begin(), problem.arcs.end());
  Algorithm algorithm(graph);
  algorithm.costMap(ById<StaticDigraph::Arc>{&problem.costs});
  algorithm.supplyMap(ById<StaticDigraph::Node>{&problem.supplies});
  Solution solution;
  solution.feasible = algorithm.run() == Algorithm::OPTIMAL;
  if (!solution.feasible) return solution;
  solution.flow.resize(problem.arcs.size());
  for (int a = 0; a < graph.arcNum(); ++a) solution.flow[a] = algorithm.flow(StaticDigraph::arcFromId(a));
  solution.potential.resize(problem.num_nodes);
  for (int v = 0; v < problem.num_nodes; ++v) {
    solution.potential[v] = -algorithm.potential(StaticDigraph::nodeFromId(v));
  }
  return solution;
}

}  // namespace

Solution solve(const Problem& problem, Method method) {
  if (method == Method::kNetworkSimplex)
    return run<lemon::NetworkSimplex<StaticDigraph, int64_t, int64_t>>(problem);
  return run<lemon::CostScaling<StaticDigraph, int64_t, int64_t>>(problem);
}

}  // namespace qw::transport::lemon_bridge
