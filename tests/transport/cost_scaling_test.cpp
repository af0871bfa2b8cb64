#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "transport/solved.h"

namespace qw::transport {
namespace {

Solved solve(const Problem& problem, Memory& memory, const Limits& limits = {}) {
  return solve_by(solve_cost_scaling, problem, memory, limits);
}

Solved solve(const Problem& problem, const Limits& limits = {}) {
  Memory memory;
  return solve(problem, memory, limits);
}

double simplex_distance(const Problem& problem) {
  const Arcs arcs = arcs_of(problem.network);
  Memory memory;
  const Answer answer = solve_network_simplex(problem.network, arcs, problem.supply, {}, memory);
  return certify(problem.network, arcs, routes_of(problem.network, arcs), problem.supply, answer.flow,
                 answer.potential)
      .upper;
}

double largest_cost(const Network& network) {
  double largest = 0;
  for (const double cost : network.costs) largest = std::max(largest, cost);
  return largest;
}

void expect_optimal(const Problem& problem, const Solved& solved) {
  const double largest = largest_cost(problem.network);
  EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
  EXPECT_LE(solved.certified.primal_residual, 1e-10);
  EXPECT_LE(solved.certified.dual_violation, 1e-12 * largest);
  EXPECT_LE(solved.certified.upper - solved.certified.lower, 1e-9 * solved.certified.upper + 1e-12 * largest);
}

constexpr Costs kAllCosts[] = {Costs::kUnit, Costs::kUniform, Costs::kFewIntegers, Costs::kZero,
                               Costs::kWide};
constexpr Supplies kAllSupplies[] = {Supplies::kUniform, Supplies::kFewIntegers, Supplies::kSparse,
                                     Supplies::kZero};

TEST(CostScaling, AgreesWithNetworkSimplexOnEveryKindOfNetwork) {
  uint64_t seed = 0;
  for (const Costs costs : kAllCosts) {
    for (const Supplies supplies : kAllSupplies) {
      for (const int32_t nodes : {2, 3, 5, 20, 150}) {
        for (const double contracted : {0.0, 0.4}) {
          for (const bool directed : {false, true}) {
            const Shape shape{nodes, 3 * nodes, costs, supplies, directed, false, contracted};
            const Problem problem = random_problem(shape, ++seed);
            SCOPED_TRACE(seed);
            const Solved solved = solve(problem);
            expect_optimal(problem, solved);
            const double expected = simplex_distance(problem);
            EXPECT_NEAR(solved.certified.upper, expected,
                        1e-9 * expected + 1e-12 * largest_cost(problem.network));
          }
        }
      }
    }
  }
}

TEST(CostScaling, RefusesOneWayStreets) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Shape shape{static_cast<int32_t>(3 + seed % 40),
                      static_cast<int64_t>(5 + seed % 60),
                      Costs::kUniform,
                      Supplies::kUniform,
                      true,
                      true};
    const Problem problem = random_problem(shape, seed);
    const char* reason = refuses_cost_scaling(problem.network, problem.supply);
    if (reason == nullptr) {
      expect_optimal(problem, solve(problem));
    } else {
      EXPECT_STREQ(reason, "cost scaling needs ways between all nodes");
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(CostScaling, TakesNetworksWithoutEdges) {
  Problem problem;
  EXPECT_EQ(solve(problem).answer.outcome, Outcome::kSolved);
  problem.network.num_nodes = 1;
  problem.supply = {0};
  expect_optimal(problem, solve(problem));
  problem.network.ground = 0;
  problem.supply = {7};
  expect_optimal(problem, solve(problem));
}

TEST(CostScaling, IsExactOnLongPathsAndDeepTrees) {
  Problem problem;
  problem.network.num_nodes = 2000;
  problem.supply.assign(2000, 0.0);
  problem.supply.front() = 1;
  problem.supply.back() = -1;
  for (int32_t v = 1; v < 2000; ++v) {
    problem.network.sources.push_back(v - 1);
    problem.network.targets.push_back(v);
    problem.network.costs.push_back(0.1 * v);
  }
  const Solved solved = solve(problem);
  expect_optimal(problem, solved);
  EXPECT_NEAR(solved.certified.upper, 0.1 * 2000 * 1999 / 2, 1e-6);
}

TEST(CostScaling, TakesTheCheapestOfParallelEdgesAndTheDetour) {
  Problem problem;
  problem.network = {3, kNoNode, false, {0, 1, 0, 1}, {1, 0, 2, 2}, {5, 4, 1, 2}};
  problem.supply = {2, -2, 0};
  const Solved solved = solve(problem);
  expect_optimal(problem, solved);
  EXPECT_EQ(solved.answer.flow, (std::vector<double>{0, 0, 2, -2}));
}

TEST(CostScaling, StopsAtTheGap) {
  const Problem problem = random_problem({3000, 20000, Costs::kUniform, Supplies::kUniform}, 5);
  const double distance = solve(problem).certified.upper;
  for (const double gap : {0.3, 1e-2, 1e-4}) {
    const Solved solved = solve(problem, {.gap = gap});
    EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
    EXPECT_LE(solved.certified.upper - solved.certified.lower, gap * solved.certified.upper * (1 + 1e-9));
    EXPECT_LE(solved.certified.lower, distance * (1 + 1e-12));
    EXPECT_GE(solved.certified.upper, distance * (1 - 1e-12));
  }
}

TEST(CostScaling, HeedsTheDeadlineWithAValidInterval) {
  const Problem problem = random_problem({20000, 150000, Costs::kUniform, Supplies::kUniform}, 6);
  const double distance = solve(problem).certified.upper;
  for (const double seconds : {0.0, 0.01, 0.05}) {
    const Limits limits{.deadline = Deadline::after_seconds(seconds)};
    const auto start = std::chrono::steady_clock::now();
    const Solved solved = solve(problem, limits);
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), seconds + 2);
    EXPECT_EQ(solved.answer.outcome, Outcome::kStopped);
    EXPECT_LE(solved.certified.lower, distance * (1 + 1e-12));
    EXPECT_GE(solved.certified.upper, distance * (1 - 1e-12));
    EXPECT_LT(solved.certified.upper, std::numeric_limits<double>::infinity());
  }
}

TEST(CostScaling, AWarmStartChangesNothingButTheTime) {
  for (const bool directed : {false, true}) {
    Problem problem =
        random_problem({400, 2000, Costs::kUniform, Supplies::kUniform, directed, false, 0.3}, 7);
    Memory memory;
    solve(problem, memory);
    EXPECT_EQ(memory.potential.size(), static_cast<size_t>(problem.network.num_nodes));
    for (uint64_t step = 0; step < 5; ++step) {
      const std::vector<double> noise = random_supply(problem.network, Supplies::kUniform, step);
      for (size_t v = 0; v < noise.size(); ++v) problem.supply[v] += 0.05 * noise[v];
      const Solved warm = solve(problem, memory);
      expect_optimal(problem, warm);
      EXPECT_NEAR(warm.certified.upper, solve(problem).certified.upper, 1e-9 * warm.certified.upper);
    }
  }
}

TEST(CostScaling, SurvivesAnythingInItsMemory) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool directed : {false, true}) {
    const Shape shape{60, 200, Costs::kUniform, Supplies::kUniform, directed};
    const Problem problem = random_problem(shape, 8);
    const Solved cold = solve(problem);
    for (const std::vector<double>& garbage :
         {std::vector<double>{1, 2}, std::vector<double>(60, nan), std::vector<double>(60, infinity),
          std::vector<double>(60, -1e300), random_supply(problem.network, Supplies::kUniform, 9)}) {
      Memory memory{garbage, {-5, 1000000}};
      const Solved solved = solve(problem, memory);
      EXPECT_EQ(solved.answer.outcome, cold.answer.outcome);
      if (cold.answer.outcome == Outcome::kSolved) expect_optimal(problem, solved);
    }
    std::vector<double> steep(60);
    for (size_t v = 0; v < steep.size(); ++v) steep[v] = v % 2 == 0 ? 1e308 : -1e308;
    Memory memory{steep, {}};
    EXPECT_EQ(solve(problem, memory).answer.outcome, cold.answer.outcome);
  }
}

TEST(CostScaling, GivesTheSameBitsEveryTime) {
  const Problem problem = random_problem({500, 3000, Costs::kFewIntegers, Supplies::kUniform}, 10);
  const Solved first = solve(problem), second = solve(problem);
  EXPECT_EQ(first.answer.flow, second.answer.flow);
  EXPECT_EQ(first.answer.potential, second.answer.potential);
}

TEST(CostScaling, TheGroundHasPotentialZero) {
  const Problem problem =
      random_problem({50, 200, Costs::kUniform, Supplies::kUniform, false, false, 0.5}, 11);
  EXPECT_EQ(solve(problem).answer.potential[problem.network.ground], 0);
}

}  // namespace
}  // namespace qw::transport
