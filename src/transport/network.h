// A transport problem as its solvers see it: one connected piece of a contracted graph.
//
// Flow f > 0 on an edge runs from its source to its target; in an undirected network f < 0 runs the other way
// at the same cost. Every node but the ground must send out what it is supplied with: (out - in)[v] =
// supply[v], where a negative supply is a demand. The ground, where there is one, takes and gives anything,
// and its potential is 0.
//
//   primal  min sum_e cost[e] |flow[e]|  s.t. out - in = supply,  flow >= 0 if directed
//   dual    max sum_v potential[v] supply[v]  s.t. potential[source] - potential[target] <= cost
//           (undirected: |potential[source] - potential[target]| <= cost),  potential[ground] = 0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qw::transport {

inline constexpr int32_t kNoNode = -1;

struct Network {
  int32_t num_nodes = 0;
  int32_t ground = kNoNode;
  bool directed = false;
  std::vector<int32_t> sources;  // [E]
  std::vector<int32_t> targets;  // [E], never the source
  std::vector<double> costs;     // [E], finite, >= 0

  int64_t num_edges() const { return static_cast<int64_t>(sources.size()); }
};

// Arcs by node: those of v are arcs[offsets[v] .. offsets[v+1]). Arc 2e is edge e seen from its source, arc
// 2e+1 from its target, also in a directed network; `ends` holds the node at the other end.
struct Arcs {
  std::vector<int64_t> offsets;  // [N+1]
  std::vector<int64_t> arcs;     // [2E]
  std::vector<int32_t> ends;     // [2E]
};
Arcs arcs_of(const Network& network);

// out - in at every node.
std::vector<double> divergence(const Network& network, std::span<const double> flow);

}  // namespace qw::transport
