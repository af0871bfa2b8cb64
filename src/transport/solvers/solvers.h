// The solvers that solver.cpp lists.
#pragma once

#include <span>

#include "transport/network.h"
#include "transport/solver.h"

namespace qw::transport {

// Primal network simplex. Exact, quickest up to some 10^5 edges, and from a Memory of nearby supplies.
Answer solve_network_simplex(const Network& network, const Arcs& arcs, std::span<const double> supply,
                             const Limits& limits, Memory& memory);

// Cost scaling: exact, quickest from some 10^5 edges, stops at a gap.
const char* refuses_cost_scaling(const Network& network, std::span<const double> supply);
Answer solve_cost_scaling(const Network& network, const Arcs& arcs, std::span<const double> supply,
                          const Limits& limits, Memory& memory);

// Primal-dual hybrid gradient: not exact (gap 0 is taken for 1e-6), several threads, for millions of edges
// and loose gaps.
const char* refuses_primal_dual(const Network& network, std::span<const double> supply);
Answer solve_primal_dual(const Network& network, const Arcs& arcs, std::span<const double> supply,
                         const Limits& limits, Memory& memory);

// Maximum flow, for equal costs where every node has an edge to the ground. Exact.
const char* refuses_max_flow(const Network& network, std::span<const double> supply);
Answer solve_max_flow(const Network& network, const Arcs& arcs, std::span<const double> supply,
                      const Limits& limits, Memory& memory);

}  // namespace qw::transport
