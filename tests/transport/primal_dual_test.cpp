#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qw/core/parallel.h"
#include "transport/certificate.h"
#include "transport/networks.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

constexpr double kTightest = 1e-6;  // what the solver takes gap 0 for

struct Solved {
  Answer answer;
  Certified certified;
  double gap() const { return certified.upper - certified.lower; }
};

Solved solve(const Problem& problem, const Limits& limits, Memory& memory) {
  const Arcs arcs = arcs_of(problem.network);
  Solved solved;
  solved.answer = solve_primal_dual(problem.network, arcs, problem.supply, limits, memory);
  solved.certified = certify(problem.network, arcs, routes_of(problem.network, arcs), problem.supply,
                             solved.answer.flow, solved.answer.potential);
  return solved;
}

Solved solve(const Problem& problem, double gap = 0) {
  Memory memory;
  return solve(problem, Limits{gap, Deadline::never()}, memory);
}

void expect_solved(const Solved& solved, double gap) {
  EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
  EXPECT_LE(solved.gap(), gap * (1 + 1e-6) * solved.certified.upper);
  EXPECT_LE(solved.certified.primal_residual, 1e-11);
  EXPECT_LE(solved.certified.dual_violation, 1e-12);
}

TEST(PrimalDual, ReachesTheGapAndAgreesWithTheSimplex) {
  for (const bool directed : {false, true}) {
    for (const double contracted : {0.0, 0.4}) {
      for (const Costs costs : {Costs::kUnit, Costs::kUniform, Costs::kFewIntegers}) {
        for (const Supplies supplies : {Supplies::kUniform, Supplies::kFewIntegers, Supplies::kSparse}) {
          for (uint64_t seed = 0; seed < 3; ++seed) {
            SCOPED_TRACE(testing::Message() << directed << " " << contracted << " " << static_cast<int>(costs)
                                            << " " << static_cast<int>(supplies) << " " << seed);
            const Problem problem =
                random_problem({60, 200, costs, supplies, directed, false, contracted}, 100 + seed);
            const Solved solved = solve(problem, 1e-4);
            expect_solved(solved, 1e-4);
            Memory memory;
            const Arcs arcs = arcs_of(problem.network);
            const Answer exact = solve_network_simplex(problem.network, arcs, problem.supply, {}, memory);
            const Certified best = certify(problem.network, arcs, routes_of(problem.network, arcs),
                                           problem.supply, exact.flow, exact.potential);
            EXPECT_LE(solved.certified.lower, best.upper * (1 + 1e-9));
            EXPECT_GE(solved.certified.upper, best.lower * (1 - 1e-9));
          }
        }
      }
    }
  }
}

TEST(PrimalDual, ExactMeansAMillionth) {
  for (const Costs costs : {Costs::kUnit, Costs::kUniform}) {
    expect_solved(solve(random_problem({300, 1200, costs}, 5)), kTightest);
  }
}

// 32-bit numbers cannot hold these; the solver must notice, go on in 64 and end.
TEST(PrimalDual, CostsOfManySizesEnd) {
  const Problem problem = random_problem({12, 24, Costs::kWide}, 3);
  const Solved solved = solve(problem, 1e-3);
  EXPECT_LE(solved.certified.lower, solved.certified.upper);
  EXPECT_TRUE(std::isfinite(solved.certified.upper));
  if (solved.answer.outcome == Outcome::kSolved) {
    EXPECT_LE(solved.gap(), 1e-3 * solved.certified.upper);
  }
}

TEST(PrimalDual, NothingToDo) {
  Problem alone;
  alone.network.num_nodes = 1;
  alone.supply = {0};
  EXPECT_EQ(solve(alone).certified.upper, 0);
  EXPECT_EQ(solve(random_problem({30, 90, Costs::kUniform, Supplies::kZero}, 1)).certified.upper, 0);
  expect_solved(solve(random_problem({30, 90, Costs::kZero}, 1)), 0);
  Problem grounded = random_problem({30, 90, Costs::kUniform, Supplies::kZero, false, false, 0.2}, 1);
  grounded.supply[grounded.network.ground] = 7;  // ignored
  EXPECT_EQ(solve(grounded).certified.upper, 0);
}

TEST(PrimalDual, UnitsDoNotMatter) {
  const Problem problem = random_problem({50, 150}, 9);
  const Solved solved = solve(problem, 1e-4);
  Problem other = problem;
  for (double& cost : other.network.costs) cost *= 0x1p200;
  for (double& supply : other.supply) supply *= 0x1p-200;
  const Solved scaled = solve(other, 1e-4);
  EXPECT_EQ(scaled.certified.upper, solved.certified.upper);
  EXPECT_EQ(scaled.certified.lower, solved.certified.lower);
}

TEST(PrimalDual, SameBitsForAnyNumberOfThreads) {
  const Problem problem = random_problem({20000, 60000}, 4);
  const int threads = thread_count();
  set_thread_count(1);
  const Solved one = solve(problem, 1e-2);
  set_thread_count(3);
  const Solved three = solve(problem, 1e-2);
  set_thread_count(threads);
  expect_solved(one, 1e-2);
  EXPECT_EQ(one.answer.flow, three.answer.flow);
  EXPECT_EQ(one.answer.potential, three.answer.potential);
}

TEST(PrimalDual, StopsAtTheDeadlineWithAnInterval) {
  const Problem problem = random_problem({20000, 100000}, 6);
  for (const double seconds : {0.0, 0.002, 0.1}) {
    Memory memory;
    const Solved solved = solve(problem, Limits{1e-9, Deadline::after_seconds(seconds)}, memory);
    EXPECT_EQ(solved.answer.outcome, Outcome::kStopped);
    EXPECT_TRUE(std::isfinite(solved.certified.upper));
    EXPECT_LE(solved.certified.lower, solved.certified.upper);
    EXPECT_LE(solved.certified.dual_violation, 1e-12);
  }
}

TEST(PrimalDual, SurvivesAnyMemory) {
  const Problem problem =
      random_problem({200, 600, Costs::kUniform, Supplies::kUniform, false, false, 0.3}, 8);
  const double inf = std::numeric_limits<double>::infinity();
  Memory memory;
  const Solved cold = solve(problem, Limits{1e-4, Deadline::never()}, memory);
  ASSERT_EQ(memory.potential.size(), problem.supply.size());
  std::vector<Memory> memories{
      memory, {{1, 2, 3}, {-5}}, {std::vector<double>(problem.supply.size(), inf), {}}};
  memories.push_back({std::vector<double>(problem.supply.size(), 1e300), {}});
  memories.push_back({std::vector<double>(problem.supply.size(), std::nan("")), {}});
  memories.push_back(memory);
  for (size_t v = 0; v < memory.potential.size(); ++v) memories.back().potential[v] = v % 2 == 0 ? 1e6 : -1e6;
  for (Memory& other : memories) {
    const Solved solved = solve(problem, Limits{1e-4, Deadline::never()}, other);
    expect_solved(solved, 1e-4);
    EXPECT_NEAR(solved.certified.upper, cold.certified.upper, 2e-4 * cold.certified.upper);
  }
}

TEST(PrimalDual, RefusesWhereAWayMayBeMissing) {
  Network network{.num_nodes = 2, .directed = true, .sources = {0}, .targets = {1}, .costs = {1}};
  const std::vector<double> supply{1, -1};
  EXPECT_STREQ(refuses_primal_dual(network, supply), "needs ways between all nodes");
  network.directed = false;
  EXPECT_EQ(refuses_primal_dual(network, supply), nullptr);
  EXPECT_EQ(refuses_primal_dual(random_problem({20, 50, Costs::kUnit, Supplies::kUniform, true}, 1).network,
                                supply),
            nullptr);
}

}  // namespace
}  // namespace qw::transport
