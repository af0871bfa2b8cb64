// From any flow and any potential to a certified interval.
//
// What the flow leaves undelivered is routed over a spanning tree, so that its cost is an upper bound of the
// distance; the potential is made feasible, so that its value is a lower bound. Both are computed with the
// real costs and supplies: whatever a solver rounded, stopped short of or got wrong shows as a wider
// interval, never as a wrong one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/deadline.h"
#include "transport/integers.h"
#include "transport/network.h"
#include "transport/supply.h"

namespace qw::transport {

// Ways from every node to the root and back: a breadth-first tree each (in an undirected network the same).
// The root is the ground, or node 0.
struct Routes {
  struct Tree {
    std::vector<int32_t> order;  // the nodes that have a way, root first, parents before children
    std::vector<int64_t> arcs;  // [N] the arc of the node towards the root (as Arcs numbers them), -1 without
  };
  int32_t root = 0;
  Tree to_root;
  Tree from_root;  // empty when undirected
};
Routes routes_of(const Network& network, const Arcs& arcs);

struct Certified {
  std::vector<double> flow;       // [E]
  std::vector<double> potential;  // [N], 0 at the ground, or on average without one
  double upper = 0;               // cost of the flow and of a way for what it leaves behind; infinite when
                                  // `primal_residual` is more than rounding and more than allowed
  double lower = 0;               // value of the potential
  double primal_residual = 0;     // largest |out - in - supply| of a node
  double dual_violation = 0;      // largest potential difference beyond a cost
};

// O(N + E), and O(E log N) more when the potential is far from feasible and the deadline allows it. Takes a
// supply that does not sum to zero: what is too much stays at the root, as a residual. Numbers that are not
// finite count as 0, and so does flow against the direction. The supply is exactly `supply` + `lost`.
Certified certify(const Network& network, const Arcs& arcs, const Routes& routes,
                  std::span<const double> supply, std::vector<double> flow, std::vector<double> potential,
                  const Deadline& deadline = Deadline::never(), double allowed_residual = 0,
                  std::span<const double> lost = {});

// The same from an optimum of the integers, which is checked first; nothing when it is none, or when its
// numbers are beyond those of a double. Both bounds are sums without cancellation: the interval is as narrow
// as the rounding of costs and supplies lets it be, whatever rounding does to flow and potential.
std::optional<Certified> certify_optimum(const Network& network, const Supply& supply,
                                         const WideIntegers& integers, std::span<const Wide> flow,
                                         std::span<const Wide> potential);

}  // namespace qw::transport
