// A solver's answer and what it is worth.
#pragma once

#include "transport/certificate.h"
#include "transport/networks.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {

struct Solved {
  Answer answer;
  Certified certified;
};

inline Solved solve_by(decltype(Solver::solve) solver, const Problem& problem, Memory& memory,
                       const Limits& limits = {}) {
  const Arcs arcs = arcs_of(problem.network);
  Solved solved;
  solved.answer = solver(problem.network, arcs, problem.supply, limits, memory);
  solved.certified = certify(problem.network, arcs, routes_of(problem.network, arcs), problem.supply,
                             solved.answer.flow, solved.answer.potential);
  return solved;
}

}  // namespace qw::transport
