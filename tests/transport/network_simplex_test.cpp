#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "transport/solved.h"

namespace qw::transport {
namespace {

Solved solve(const Problem& problem, Memory& memory, const Limits& limits = {}) {
  return solve_by(solve_network_simplex, problem, memory, limits);
}

Solved solve(const Problem& problem) {
  Memory memory;
  return solve(problem, memory);
}

void expect_optimal(const Problem& problem, const Solved& solved) {
  const Certified& certified = solved.certified;
  EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
  EXPECT_EQ(solved.answer.unrouted, 0);
  EXPECT_LE(certified.primal_residual, 1e-12);
  const double largest = problem.network.costs.empty()
                             ? 0
                             : *std::max_element(problem.network.costs.begin(), problem.network.costs.end());
  EXPECT_LE(certified.dual_violation, 1e-12 * largest);
  EXPECT_LE(certified.upper - certified.lower, 1e-9 * certified.upper + 1e-13 * largest);
}

// Bellman and Ford, over all pairs of nodes; infinite without a way.
std::vector<std::vector<double>> distances(const Network& network) {
  std::vector<std::vector<double>> result(
      network.num_nodes, std::vector<double>(network.num_nodes, std::numeric_limits<double>::infinity()));
  for (int32_t from = 0; from < network.num_nodes; ++from) {
    std::vector<double>& to = result[from];
    to[from] = 0;
    for (int32_t round = 1; round < network.num_nodes; ++round) {
      for (int64_t e = 0; e < network.num_edges(); ++e) {
        const int32_t s = network.sources[e];
        const int32_t t = network.targets[e];
        to[t] = std::min(to[t], to[s] + network.costs[e]);
        if (!network.directed) to[s] = std::min(to[s], to[t] + network.costs[e]);
      }
    }
  }
  return result;
}

Problem path(const std::vector<double>& costs, const std::vector<double>& supply) {
  Problem problem;
  problem.network.num_nodes = static_cast<int32_t>(supply.size());
  for (size_t e = 0; e < costs.size(); ++e) {
    problem.network.sources.push_back(static_cast<int32_t>(e));
    problem.network.targets.push_back(static_cast<int32_t>(e + 1));
  }
  problem.network.costs = costs;
  problem.supply = supply;
  return problem;
}

TEST(NetworkSimplex, OnAPathTheDistanceIsThatOfTheCumulativeSums) {
  const Problem problem = path({2, 1, 0.5}, {1, -3, 4, -2});
  const Solved solved = solve(problem);
  expect_optimal(problem, solved);
  EXPECT_EQ(solved.answer.flow, (std::vector<double>{1, -2, 2}));
  EXPECT_EQ(solved.certified.upper, 2 * 1 + 1 * 2 + 0.5 * 2);
}

// Random shapes: tiny to middling, all kinds of costs and supplies, with and without ground and directions.
TEST(NetworkSimplex, IsOptimalOnRandomNetworks) {
  uint64_t seed = 0;
  for (const int32_t nodes : {2, 3, 5, 12, 40, 150}) {
    for (const Costs costs : {Costs::kUnit, Costs::kUniform, Costs::kFewIntegers, Costs::kZero}) {
      for (const Supplies supplies :
           {Supplies::kUniform, Supplies::kFewIntegers, Supplies::kSparse, Supplies::kZero}) {
        for (const double contracted : {0.0, 0.4}) {
          for (const bool directed : {false, true}) {
            for (const int64_t density : {1, 2, 6}) {
              const Problem problem = random_problem({.nodes = nodes,
                                                      .edges = nodes * density,
                                                      .costs = costs,
                                                      .supplies = supplies,
                                                      .directed = directed,
                                                      .contracted = contracted},
                                                     ++seed);
              SCOPED_TRACE("seed " + std::to_string(seed));
              expect_optimal(problem, solve(problem));
            }
          }
        }
      }
    }
  }
}

// Costs over twelve decades: rounding down costs at most one unit, 2^-50 of the largest, per edge that is
// used.
TEST(NetworkSimplex, WideCostsShowInTheIntervalOnly) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = random_problem({.nodes = 60, .edges = 200, .costs = Costs::kWide}, seed);
    const Solved solved = solve(problem);
    EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
    EXPECT_LE(solved.certified.lower, solved.certified.upper);
    EXPECT_LE(solved.certified.upper - solved.certified.lower, 60 * 60 * 1e7 * 0x1p-50);
  }
}

TEST(NetworkSimplex, OneSourceToOneSinkTakesTheShortestWay) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = random_problem({.nodes = 15, .edges = 40, .directed = seed % 2 == 1}, seed);
    std::fill(problem.supply.begin(), problem.supply.end(), 0.0);
    problem.supply[0] = 1;
    problem.supply[14] = -1;
    EXPECT_NEAR(solve(problem).certified.upper, distances(problem.network)[0][14], 1e-12);
  }
}

// With a ground everything may go there: the distance is at most the sum of the ways, and exactly that when
// all supplies have one sign.
TEST(NetworkSimplex, SuppliesOfOneSignAllGoToTheGround) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = random_problem({.nodes = 20, .edges = 40, .contracted = 0.3}, seed);
    const int32_t ground = problem.network.ground;
    const std::vector<double> to_ground = distances(problem.network)[ground];
    double expected = 0;
    for (int32_t v = 0; v < problem.network.num_nodes; ++v) {
      problem.supply[v] = std::fabs(problem.supply[v]);
      if (v != ground) expected += problem.supply[v] * to_ground[v];
    }
    problem.supply[ground] = 1e300;  // ignored
    const Solved solved = solve(problem);
    EXPECT_NEAR(solved.certified.upper, expected, 1e-11);
    EXPECT_EQ(solved.answer.potential[ground], 0);
  }
}

TEST(NetworkSimplex, WithoutGroundThePotentialsHaveMeanZero) {
  const Solved solved = solve(random_problem({.nodes = 50, .edges = 120}, 3));
  EXPECT_NEAR(std::accumulate(solved.answer.potential.begin(), solved.answer.potential.end(), 0.0), 0, 1e-12);
}

TEST(NetworkSimplex, OneNodeAndNoEdges) {
  Problem problem;
  problem.network.num_nodes = 1;
  problem.supply = {0};
  EXPECT_EQ(solve(problem).answer.potential, std::vector<double>{0});
  problem.network.ground = 0;
  problem.supply = {5};
  EXPECT_EQ(solve(problem).answer.outcome, Outcome::kSolved);
}

TEST(NetworkSimplex, TwoPiecesThatDoNotBalanceAreInfeasible) {
  Problem problem;
  problem.network.num_nodes = 4;
  problem.network.sources = {0, 2};
  problem.network.targets = {1, 3};
  problem.network.costs = {1, 1};
  problem.supply = {3, -1, 1, -3};
  const Solved solved = solve(problem);
  EXPECT_EQ(solved.answer.outcome, Outcome::kInfeasible);
  EXPECT_EQ(solved.answer.unrouted, 2);
}

// All subsets of up to 10 nodes: what cannot leave a set without outgoing edges is unrouted (Hoffman's
// theorem).
TEST(NetworkSimplex, UnroutedIsTheLargestShortageOfAnySet) {
  int infeasible = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = random_problem({.nodes = 8,
                                            .edges = static_cast<int64_t>(7 + seed % 8),
                                            .costs = seed % 3 == 0 ? Costs::kFewIntegers : Costs::kUniform,
                                            .supplies = Supplies::kFewIntegers,
                                            .directed = true,
                                            .one_way = true},
                                           seed);
    const Network& network = problem.network;
    double shortage = 0;
    for (uint32_t set = 0; set < 1u << network.num_nodes; ++set) {
      bool closed = true;
      for (int64_t e = 0; e < network.num_edges(); ++e) {
        closed &= !((set >> network.sources[e] & 1) != 0 && (set >> network.targets[e] & 1) == 0);
      }
      double supplied = 0;
      for (int32_t v = 0; v < network.num_nodes; ++v) supplied += (set >> v & 1) != 0 ? problem.supply[v] : 0;
      if (closed) shortage = std::max(shortage, supplied);
    }
    Memory memory;
    if (seed % 2 == 1) {
      Problem before = problem;
      before.supply = random_supply(network, Supplies::kUniform, seed);
      solve(before, memory);
    }
    const Solved solved = solve(problem, memory);
    EXPECT_EQ(solved.answer.outcome, shortage > 0 ? Outcome::kInfeasible : Outcome::kSolved) << seed;
    EXPECT_EQ(solved.answer.unrouted, shortage) << seed;
    if (shortage == 0) expect_optimal(problem, solved);
    infeasible += shortage > 0 ? 1 : 0;
  }
  EXPECT_GT(infeasible, 20);
  EXPECT_LT(infeasible, 180);
}

TEST(NetworkSimplex, SameBitsEveryTime) {
  const Problem problem = random_problem({.nodes = 300, .edges = 1000}, 8);
  const Solved first = solve(problem);
  const Solved second = solve(problem);
  EXPECT_EQ(first.answer.flow, second.answer.flow);
  EXPECT_EQ(first.answer.potential, second.answer.potential);
}

TEST(NetworkSimplex, MemoryOfOtherSuppliesGivesTheSameDistance) {
  for (const bool directed : {false, true}) {
    for (const double contracted : {0.0, 0.4}) {
      Problem problem =
          random_problem({.nodes = 200, .edges = 700, .directed = directed, .contracted = contracted}, 5);
      Memory memory;
      for (uint64_t step = 0; step < 5; ++step) {
        const Solved warm = solve(problem, memory);
        expect_optimal(problem, warm);
        EXPECT_NEAR(warm.certified.upper, solve(problem).certified.upper, 1e-10);
        EXPECT_EQ(memory.potential, warm.answer.potential);
        problem.supply = random_supply(problem.network, Supplies::kUniform, 100 + step);
      }
    }
  }
}

TEST(NetworkSimplex, TheOptimalTreeNeedsNoFurtherPivot) {
  const Problem problem = random_problem({.nodes = 200, .edges = 700}, 5);
  Memory memory;
  const Solved cold = solve(problem, memory);
  const std::vector<int64_t> basis = memory.basis;
  EXPECT_EQ(basis.size(), 199u);
  const Solved warm = solve(problem, memory);
  EXPECT_EQ(warm.answer.flow, cold.answer.flow);
  EXPECT_TRUE(std::is_permutation(basis.begin(), basis.end(), memory.basis.begin(), memory.basis.end()));
}

TEST(NetworkSimplex, GarbageInMemoryIsSurvived) {
  for (const bool directed : {false, true}) {
    const Problem problem = random_problem({.nodes = 50, .edges = 120, .directed = directed}, 5);
    std::vector<int64_t> all(problem.network.num_edges());
    std::iota(all.begin(), all.end(), 0);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<Memory> garbage = {
        {.potential = {nan, 1}, .basis = {-1, std::numeric_limits<int64_t>::min()}},
        {.potential = std::vector<double>(50, nan), .basis = {}},
        {.potential = std::vector<double>(50, infinity), .basis = {3, 3, 3, 120000, 4, 4}},
        {.potential = std::vector<double>(51, 1e308), .basis = all},
        {.potential = {}, .basis = {1, 2, std::numeric_limits<int64_t>::max()}}};
    for (Memory memory : garbage) expect_optimal(problem, solve(problem, memory));
  }
}

TEST(NetworkSimplex, ThePassedDeadlineLeavesAValidInterval) {
  for (const bool directed : {false, true}) {
    const Problem problem = random_problem({.nodes = 2000, .edges = 6000, .directed = directed}, 5);
    Memory memory;
    const Solved cut = solve(problem, memory, {.deadline = Deadline::after_seconds(0)});
    EXPECT_EQ(cut.answer.outcome, Outcome::kStopped);
    EXPECT_LE(cut.certified.primal_residual, 1e-9);
    EXPECT_LE(cut.certified.lower, cut.certified.upper);
    EXPECT_TRUE(std::isfinite(cut.certified.upper));
    // Cut again and again, it gets there with what it left in memory.
    const Solved whole = solve(problem);
    Solved piece = cut;
    double seconds = 0.001;
    while (piece.answer.outcome == Outcome::kStopped) {
      piece = solve(problem, memory, {.deadline = Deadline::after_seconds(seconds *= 2)});
      EXPECT_LE(piece.certified.lower, whole.certified.upper * (1 + 1e-9));
      EXPECT_GE(piece.certified.upper, whole.certified.lower * (1 - 1e-9));
    }
    EXPECT_EQ(piece.answer.outcome, Outcome::kSolved);
  }
}

}  // namespace
}  // namespace qw::transport
