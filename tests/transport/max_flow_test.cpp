#include <gtest/gtest.h>

#include <cmath>

#include "transport/certificate.h"
#include "transport/networks.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

// A random network with one more edge from every node to the ground, all of cost `cost`.
Problem grounded(int32_t nodes, int64_t edges, Supplies supplies, double cost, uint64_t seed) {
  Problem problem = random_problem({nodes, edges, Costs::kUnit, supplies, false, false, 0.4}, seed);
  Network& network = problem.network;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    network.sources.push_back(v % 2 == 0 ? v : network.ground);
    network.targets.push_back(v % 2 == 0 ? network.ground : v);
  }
  network.costs.assign(network.num_edges(), cost);
  return problem;
}

struct Solved {
  Answer answer;
  Certified certified;
};

Solved solve(const Problem& problem, decltype(solve_max_flow)* solver, const Limits& limits = {}) {
  const Arcs arcs = arcs_of(problem.network);
  Memory memory;
  Solved solved{solver(problem.network, arcs, problem.supply, limits, memory), {}};
  solved.certified = certify(problem.network, arcs, routes_of(problem.network, arcs), problem.supply,
                             solved.answer.flow, solved.answer.potential);
  return solved;
}

TEST(MaxFlow, AgreesWithNetworkSimplex) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Supplies supplies = seed % 3 == 0   ? Supplies::kFewIntegers
                              : seed % 3 == 1 ? Supplies::kUniform
                                              : Supplies::kSparse;
    const auto nodes = static_cast<int32_t>(2 + 3 * seed);
    const Problem problem = grounded(nodes, 2 * nodes, supplies, 0.7, seed);
    SCOPED_TRACE(seed);
    ASSERT_EQ(refuses_max_flow(problem.network, problem.supply), nullptr);
    const Solved solved = solve(problem, solve_max_flow);
    EXPECT_EQ(solved.answer.outcome, Outcome::kSolved);
    EXPECT_LE(solved.certified.upper - solved.certified.lower, 1e-9 * solved.certified.upper);
    EXPECT_LE(solved.certified.dual_violation, 0);
    const double expected = solve(problem, solve_network_simplex).certified.upper;
    EXPECT_NEAR(solved.certified.upper, expected, 1e-9 * expected);
  }
}

TEST(MaxFlow, SendsStraightWhereTwoMeetAndToTheGroundWhatIsLeft) {
  Problem problem;
  problem.network = {3, 2, false, {0, 0, 2}, {1, 2, 1}, {2, 2, 2}};
  problem.supply = {3, -1, 0};
  const Solved solved = solve(problem, solve_max_flow);
  EXPECT_EQ(solved.answer.flow, (std::vector<double>{1, 2, 0}));
  EXPECT_EQ(solved.answer.potential, (std::vector<double>{2, 0, 0}));
  EXPECT_EQ(solved.certified.upper, 6);
}

TEST(MaxFlow, TakesBackFlowThatBlocksABetterOne) {
  // Supplies 0 and 1, demands 2 and 3; 1 reaches 2 only, so 0 has to send to 3.
  Problem problem;
  problem.network = {5, 4, false, {0, 0, 1, 0, 1, 2, 3}, {2, 3, 2, 4, 4, 4, 4}, std::vector<double>(7, 1)};
  problem.supply = {1, 1, -1, -1, 0};
  const Solved solved = solve(problem, solve_max_flow);
  EXPECT_EQ(solved.answer.flow, (std::vector<double>{0, 1, 1, 0, 0, 0, 0}));
}

TEST(MaxFlow, HasAValidIntervalWhenItIsStopped) {
  const Problem problem = grounded(3000, 9000, Supplies::kUniform, 1, 3);
  const Solved solved = solve(problem, solve_max_flow, {.deadline = Deadline::after_seconds(0)});
  EXPECT_EQ(solved.answer.outcome, Outcome::kStopped);
  const double distance = solve(problem, solve_max_flow).certified.upper;
  EXPECT_LE(solved.certified.lower, distance);
  EXPECT_GT(solved.certified.lower, 0.4 * distance);
  EXPECT_GE(solved.certified.upper, distance * (1 - 1e-12));
}

TEST(MaxFlow, SaysWhyItRefuses) {
  const Problem good = grounded(30, 60, Supplies::kUniform, 1, 4);
  Problem bad = good;
  bad.network.directed = true;
  EXPECT_STREQ(refuses_max_flow(bad.network, bad.supply), "max-flow takes undirected networks only");
  bad = good;
  bad.network.ground = kNoNode;
  EXPECT_STREQ(refuses_max_flow(bad.network, bad.supply), "max-flow needs unlabelled nodes");
  bad = good;
  bad.network.costs.assign(bad.network.num_edges(), 0);
  EXPECT_STREQ(refuses_max_flow(bad.network, bad.supply), "max-flow needs positive costs");
  bad = good;
  bad.network.costs.back() = 2;
  EXPECT_STREQ(refuses_max_flow(bad.network, bad.supply), "max-flow needs all costs to be the same");
  bad = good;
  bad.network.num_nodes += 1;
  bad.supply.push_back(0);
  EXPECT_EQ(refuses_max_flow(bad.network, bad.supply), nullptr);
  bad.supply.back() = 1;
  EXPECT_STREQ(
      refuses_max_flow(bad.network, bad.supply),
      "max-flow needs every labelled node with something to send or take to have an unlabelled neighbour");
}

}  // namespace
}  // namespace qw::transport
