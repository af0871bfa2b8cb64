#include "transport/solver.h"

#include <fmt/format.h>

#include "qw/core/error.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

const char* takes_all(const Network&, std::span<const double>) { return nullptr; }

constexpr Solver kSolvers[] = {
    {"network-simplex", "primal network simplex; remembers its spanning tree", takes_all,
     solve_network_simplex},
#ifdef QW_HAS_LEMON
    {"lemon-simplex", "LEMON's network simplex, a second opinion; heeds no limits", refuses_lemon,
     solve_lemon_network_simplex},
    {"lemon-scaling", "LEMON's cost scaling, a second opinion; heeds no limits", refuses_lemon,
     solve_lemon_cost_scaling},
#endif
};

}  // namespace

std::span<const Solver> solvers() { return kSolvers; }

const Solver& solver_named(const std::string& name) {
  std::string known;
  for (const Solver& solver : kSolvers) {
    if (name == solver.name) return solver;
    known += (known.empty() ? "" : ", ") + std::string(solver.name);
  }
  fail_usage(fmt::format("transport solver '{}' is unknown; known: auto, {}", name, known));
}

const Solver& choose_solver(const Network&, std::span<const double>, const Limits&) {
  return kSolvers[0];
}

}  // namespace qw::transport
