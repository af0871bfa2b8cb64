// What a solver of a network is. Adding one: a file in solvers/ and its line in the table of solver.cpp.
//
// Solvers are functions of their arguments: no global state, no randomness, the same bits whenever they are
// not cut short by the deadline. They may be run for different networks or supplies at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "transport/network.h"

namespace qw::transport {

struct Limits {
  double gap = 0;  // relative: a solver may stop when cost of its flow - value of its potential <= gap *
                   // cost; 0: exact
  Deadline deadline = Deadline::never();  // a solver looks at it at least every 20 ms
};

// What an earlier solution of the same network with other supplies leaves for the next one; empty at first.
// Each solver reads and writes what it understands and must cope with anything in it, of any length.
struct Memory {
  std::vector<double> potential;  // [N]
  std::vector<int64_t> basis;     // edges of a spanning tree
};

enum class Outcome {
  kSolved,      // optimal up to the rounding of the solver's numbers, or up to limits.gap
  kStopped,     // by the deadline
  kInfeasible,  // proven: `unrouted` of the supply has no way to where it is wanted
};

// The flow and the potential of a solver need not be exactly feasible: certificate.h repairs both.
struct Answer {
  Outcome outcome = Outcome::kSolved;
  std::vector<double> flow;       // [E]
  std::vector<double> potential;  // [N]
  double unrouted = 0;
};

struct Solver {
  const char* name;
  const char* summary;
  bool exact;  // kSolved with limits.gap = 0 means: to the last digit that the rounding of costs and supplies
               // leaves
  // Whether it can take this network; a reason if not.
  const char* (*refuses)(const Network& network, std::span<const double> supply);
  // `supply` [N] sums to zero up to rounding; supply[ground] is ignored. `arcs` are those of `network`.
  Answer (*solve)(const Network& network, const Arcs& arcs, std::span<const double> supply,
                  const Limits& limits, Memory& memory);
};

std::span<const Solver> solvers();
void add_solver(const Solver& solver);  // for tests and benchmarks that bring another, before any is used
const Solver& solver_named(const std::string& name);  // throws qw::Error with the known names

// The solver that is expected to be quickest.
const Solver& choose_solver(const Network& network, std::span<const double> supply, const Limits& limits);

}  // namespace qw::transport
