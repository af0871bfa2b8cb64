#include "support/lemon/lemon.h"

#include <gtest/gtest.h>

#include "transport/certificate.h"
#include "transport/networks.h"

namespace qw::transport {
namespace {

using Solve = decltype(solve_lemon_cost_scaling);

void expect_optimal(const Problem& problem, Solve* solver) {
  const Arcs arcs = arcs_of(problem.network);
  Memory memory;
  const Answer answer = solver(problem.network, arcs, problem.supply, {}, memory);
  EXPECT_EQ(answer.outcome, Outcome::kSolved);
  const Certified certified = certify(problem.network, arcs, routes_of(problem.network, arcs), problem.supply,
                                      answer.flow, answer.potential);
  EXPECT_LE(certified.primal_residual, 1e-10);
  double largest = 0;
  for (const double cost : problem.network.costs) largest = std::max(largest, cost);
  EXPECT_LE(certified.upper - certified.lower, 1e-9 * certified.upper + 1e-9 * largest);
}

class Lemon : public testing::TestWithParam<Solve*> {};

TEST_P(Lemon, IsOptimalOnEveryKindOfNetwork) {
  uint64_t seed = 0;
  for (const Costs costs : {Costs::kUnit, Costs::kUniform, Costs::kFewIntegers, Costs::kZero, Costs::kWide}) {
    for (const Supplies supplies : {Supplies::kUniform, Supplies::kFewIntegers, Supplies::kZero}) {
      for (const int32_t nodes : {2, 20, 150}) {
        for (const double contracted : {0.0, 0.4}) {
          for (const bool directed : {false, true}) {
            SCOPED_TRACE(++seed);
            expect_optimal(
                random_problem({nodes, 3 * nodes, costs, supplies, directed, false, contracted}, seed),
                GetParam());
          }
        }
      }
    }
  }
}

TEST_P(Lemon, SaysWhatCannotBeRouted) {
  Problem problem;
  problem.network = {4, kNoNode, true, {0, 2, 1}, {1, 1, 3}, {1, 1, 1}};
  problem.supply = {3, -1, 1, -3};
  const Arcs arcs = arcs_of(problem.network);
  Memory memory;
  EXPECT_EQ(GetParam()(problem.network, arcs, problem.supply, {}, memory).outcome, Outcome::kSolved);
  problem.supply = {3, -1, -1, -1};  // nothing leads to node 2
  const Answer answer = GetParam()(problem.network, arcs, problem.supply, {}, memory);
  EXPECT_EQ(answer.outcome, Outcome::kInfeasible);
  EXPECT_NEAR(answer.unrouted, 1, 1e-12);
  EXPECT_NEAR(answer.flow[0], 2, 1e-12);
}

TEST_P(Lemon, TakesASingleNode) {
  Problem problem;
  problem.network.num_nodes = 1;
  problem.supply = {0};
  expect_optimal(problem, GetParam());
}

TEST_P(Lemon, RefusesWhatItCannotCount) {
  Network network;
  EXPECT_EQ(refuses_lemon(network, {}), nullptr);
  network.num_nodes = (1 << 26) + 1;
  EXPECT_STREQ(refuses_lemon(network, {}), "LEMON takes at most 2^26 nodes");
}

INSTANTIATE_TEST_SUITE_P(Solvers, Lemon,
                         testing::Values(solve_lemon_network_simplex, solve_lemon_cost_scaling),
                         [](const auto& given) {
                           return given.index == 0 ? "NetworkSimplex" : "CostScaling";
                         });

}  // namespace
}  // namespace qw::transport
