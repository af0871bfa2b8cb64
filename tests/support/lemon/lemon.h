// LEMON's solvers as second opinions: programs that are linked with them have them as lemon-simplex and
// lemon-scaling. They know no limits and no memory.
#pragma once

#include "transport/solver.h"

namespace qw::transport {

const char* refuses_lemon(const Network& network, std::span<const double> supply);
Answer solve_lemon_network_simplex(const Network& network, const Arcs& arcs, std::span<const double> supply,
                                   const Limits& limits, Memory& memory);
Answer solve_lemon_cost_scaling(const Network& network, const Arcs& arcs, std::span<const double> supply,
                                const Limits& limits, Memory& memory);

}  // namespace qw::transport
