// Whatever a solver hands in, the interval holds; what is exact stays exact.
#include "transport/certificate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "transport/networks.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Network network_of(int32_t nodes, const std::vector<std::pair<int32_t, int32_t>>& ends,
                   std::vector<double> costs, bool directed = false, int32_t ground = kNoNode) {
  Network network{nodes, ground, directed, {}, {}, std::move(costs)};
  for (const auto& [source, target] : ends) {
    network.sources.push_back(source);
    network.targets.push_back(target);
  }
  return network;
}

Certified certified(const Network& network, std::span<const double> supply, std::vector<double> flow,
                    std::vector<double> potential, const Deadline& deadline = Deadline::never(),
                    double allowed_residual = 0) {
  const Arcs arcs = arcs_of(network);
  return certify(network, arcs, routes_of(network, arcs), supply, std::move(flow), std::move(potential),
                 deadline, allowed_residual);
}

Certified of_nothing(const Network& network, std::span<const double> supply, double allowed_residual = 0) {
  return certified(network, supply, std::vector<double>(network.num_edges(), 0.0),
                   std::vector<double>(network.num_nodes, 0.0), Deadline::never(), allowed_residual);
}

// The length of the shortest way between any two nodes, by Floyd and Warshall.
std::vector<std::vector<double>> all_ways(const Network& network) {
  const int32_t nodes = network.num_nodes;
  std::vector<std::vector<double>> ways(nodes, std::vector<double>(nodes, kInfinity));
  for (int32_t v = 0; v < nodes; ++v) ways[v][v] = 0;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    const int32_t u = network.sources[e], v = network.targets[e];
    ways[u][v] = std::min(ways[u][v], network.costs[e]);
    if (!network.directed) ways[v][u] = std::min(ways[v][u], network.costs[e]);
  }
  for (int32_t k = 0; k < nodes; ++k)
    for (int32_t u = 0; u < nodes; ++u)
      for (int32_t v = 0; v < nodes; ++v) ways[u][v] = std::min(ways[u][v], ways[u][k] + ways[k][v]);
  return ways;
}

constexpr double kLargestGarbage = 1e3;  // its digits are what is left of rounding, also when it cancels

double largest_cost(const Network& network) {
  return network.costs.empty() ? 0 : *std::ranges::max_element(network.costs);
}

// Bounds, flow and potential belong together and to the problem; nothing here comes from certify.
void expect_proof(const Problem& problem, const Certified& result) {
  const Network& network = problem.network;
  const std::vector<double> sent = divergence(network, result.flow);
  const double rounding = 1e-12 * (1 + largest_cost(network));  // potentials come in up to 1e3
  double supplied = 0, cost = 0, value = 0, largest_flow = 0;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    cost += network.costs[e] * std::fabs(result.flow[e]);
    largest_flow = std::max(largest_flow, std::fabs(result.flow[e]));
    const double fall = result.potential[network.sources[e]] - result.potential[network.targets[e]];
    EXPECT_LE(network.directed ? fall : std::fabs(fall), network.costs[e] + rounding);
    if (network.directed) {
      EXPECT_GE(result.flow[e], 0);
    }
  }
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    supplied += std::fabs(problem.supply[v]);
    value += result.potential[v] * problem.supply[v];
    EXPECT_NEAR(sent[v], problem.supply[v],
                1e-15 * static_cast<double>(network.num_edges()) * (largest_flow + kLargestGarbage));
  }
  if (result.primal_residual > 1e-9 * supplied) {  // a circulation too large for so little
    EXPECT_EQ(result.upper, kInfinity);
  } else {
    EXPECT_NEAR(result.upper, cost, 1e-9 * cost + rounding * supplied);
  }
  EXPECT_NEAR(result.lower, std::max(0.0, value), 1e-9 * cost + rounding * supplied);
  if (network.ground != kNoNode) {
    EXPECT_EQ(result.potential[network.ground], 0);
  }
}

std::vector<double> garbage(detail::Draw& draw, int64_t count, bool at_ease) {
  std::vector<double> values(count);
  for (double& value : values) {
    const int64_t kind = at_ease ? 8 : draw.below(9);
    value = kind == 0   ? std::nan("")
            : kind == 1 ? kInfinity
            : kind == 2 ? -kInfinity
            : kind == 3 ? kLargestGarbage * draw.uniform()
                        : 4 * draw.uniform() - 2;
  }
  return values;
}

TEST(Certificate, AnyGarbageGivesAnIntervalAroundTheDistance) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Shape shape;
    shape.nodes = 3 + static_cast<int32_t>(seed % 11);
    shape.edges = 2 * shape.nodes;
    shape.costs = static_cast<Costs>(seed % 5);
    shape.supplies = static_cast<Supplies>(seed % 4);
    shape.directed = seed % 2 == 0;
    shape.contracted = seed % 3 == 0 ? 0.3 : 0;
    const Problem problem = random_problem(shape, seed);
    const Network& network = problem.network;
    Memory memory;
    const Answer best = solve_network_simplex(network, arcs_of(network), problem.supply, {}, memory);
    const Certified exact = certified(network, problem.supply, best.flow, best.potential);
    double supplied = 0;
    for (const double value : problem.supply) supplied += std::fabs(value);
    const double rounding = 1e-12 * (1 + largest_cost(network)) * supplied;
    EXPECT_LE(exact.upper - exact.lower, 1e-9 * exact.upper + rounding);
    expect_proof(problem, exact);
    detail::Draw draw(1000 + seed);
    for (const bool at_ease : {true, false}) {
      for (const Deadline& deadline : {Deadline::never(), Deadline::after_seconds(-1)}) {
        const Certified result =
            certified(network, problem.supply, garbage(draw, network.num_edges(), at_ease),
                      garbage(draw, network.num_nodes, at_ease), deadline);
        expect_proof(problem, result);
        EXPECT_LE(result.lower, exact.upper * (1 + 1e-9) + rounding);
        EXPECT_GE(result.upper, exact.lower * (1 - 1e-9) - rounding);
      }
    }
  }
}

TEST(Certificate, WhatIsOptimalIsNotTouched) {
  const Network network = network_of(3, {{0, 1}, {1, 2}, {0, 2}}, {1, 2, 4});
  const std::vector<double> supply{1, 0, -1}, flow{1, 1, 0};
  const std::vector<double> around_zero{4.0 / 3, 1.0 / 3, -5.0 / 3};
  const Certified result = certified(network, supply, flow, {11.5, 10.5, 8.5});
  EXPECT_EQ(result.flow, flow);
  for (int32_t v = 0; v < 3; ++v) EXPECT_NEAR(result.potential[v], around_zero[v], 1e-14);
  EXPECT_EQ(result.upper, 3);
  EXPECT_NEAR(result.lower, 3, 1e-14);
  EXPECT_EQ(result.primal_residual, 0);
  EXPECT_LE(result.dual_violation, 1e-15);
}

TEST(Certificate, TheClippedPotentialIsTheLargestFeasibleOneBelow) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Shape shape;
    shape.nodes = 9;
    shape.edges = 20;
    shape.directed = seed % 2 == 0;
    Problem problem = random_problem(shape, seed);
    const Network& network = problem.network;
    const auto ways = all_ways(network);
    detail::Draw draw(seed);
    const std::vector<double> given = garbage(draw, network.num_nodes, true);
    std::vector<double> clipped(network.num_nodes, kInfinity);
    double mean = 0;
    for (int32_t u = 0; u < network.num_nodes; ++u) {
      for (int32_t v = 0; v < network.num_nodes; ++v)
        clipped[u] = std::min(clipped[u], given[v] + ways[u][v]);
      mean += clipped[u] / network.num_nodes;
    }
    // Supplies for which clipping is worth more than scaling.
    double value = 0, sum = 0;
    for (int32_t v = 0; v < network.num_nodes; ++v) sum += clipped[v] - mean;
    for (int32_t v = 0; v < network.num_nodes; ++v) {
      problem.supply[v] = clipped[v] - mean - sum / network.num_nodes;
      value += problem.supply[v] * (clipped[v] - mean);
    }
    const Certified result =
        certified(network, problem.supply, std::vector<double>(network.num_edges(), 0.0), given);
    expect_proof(problem, result);
    EXPECT_GE(result.lower, value * (1 - 1e-12)) << "scaling may be worth more, never less";
    bool same = true;
    for (int32_t v = 0; v < network.num_nodes; ++v)
      same = same && std::fabs(result.potential[v] - (clipped[v] - mean)) < 1e-12;
    EXPECT_TRUE(same || result.lower > value * (1 + 1e-9));
  }
}

TEST(Certificate, AfterTheDeadlineThePotentialIsScaledOnly) {
  const Network network = network_of(3, {{0, 1}, {1, 2}}, {1, 3});
  const std::vector<double> supply{1, 0, -1};
  const Certified scaled = certified(network, supply, {1, 1}, {2, 0, -2}, Deadline::after_seconds(-1));
  EXPECT_DOUBLE_EQ(scaled.lower, 2);  // factor 1/2: (1, 0, -1)
  const Certified clipped = certified(network, supply, {1, 1}, {2, 0, -2});
  EXPECT_DOUBLE_EQ(clipped.lower, 3);  // (1, 0, -2)
}

TEST(Certificate, UndeliveredSupplyGoesOverTheTreeToTheRoot) {
  const Network path = network_of(3, {{0, 1}, {2, 1}}, {2, 5});
  const Certified result = of_nothing(path, std::vector<double>{-1, 0, 1});
  EXPECT_EQ(result.flow, (std::vector<double>{-1, 1}));
  EXPECT_EQ(result.upper, 7);
  EXPECT_EQ(result.lower, 0);
  EXPECT_EQ(result.primal_residual, 0);
}

TEST(Certificate, WhatIsTooMuchStaysAtTheRootAsAResidual) {
  const Network path = network_of(3, {{0, 1}, {1, 2}}, {1, 1});
  const std::vector<double> supply{0, 0.25, -1};
  const Certified result = of_nothing(path, supply);
  EXPECT_EQ(result.primal_residual, 0.75);
  EXPECT_EQ(result.upper, kInfinity);
  EXPECT_EQ(divergence(path, result.flow), (std::vector<double>{0.75, 0.25, -1}));
  EXPECT_EQ(of_nothing(path, supply, 0.5).upper, kInfinity);
  EXPECT_EQ(of_nothing(path, supply, 0.75).upper, 1.75) << "as much was allowed";
}

TEST(Certificate, AResidualOfRoundingIsNone) {
  const Network path = network_of(2, {{0, 1}}, {2});
  EXPECT_NEAR(of_nothing(path, std::vector<double>{1, -1 + 1e-10}).upper, 2, 1e-9);
  EXPECT_EQ(of_nothing(path, std::vector<double>{1, -1 + 1e-8}).upper, kInfinity);
}

TEST(Certificate, TheGroundTakesAnything) {
  const Network star = network_of(3, {{0, 2}, {1, 2}}, {3, 4}, false, 2);
  const Certified result = of_nothing(star, std::vector<double>{1, 0.5, 1e9});
  EXPECT_EQ(result.upper, 5);
  EXPECT_EQ(result.primal_residual, 0);
  const Certified exact = certified(star, std::vector<double>{1, 0.5, 1e9}, {1, 0.5}, {13, 14, 10});
  EXPECT_EQ(exact.lower, 5);
  EXPECT_EQ(exact.potential, (std::vector<double>{3, 4, 0}));
}

TEST(Certificate, DirectedFlowTakesOtherWaysToTheRootAndBack) {
  const Network ring = network_of(3, {{0, 1}, {1, 2}, {2, 0}}, {1, 2, 4}, true);
  const Certified result = of_nothing(ring, std::vector<double>{0, 1, -1});
  EXPECT_EQ(result.flow, (std::vector<double>{1, 2, 1}));  // once around to the root, once on from there
  EXPECT_EQ(result.upper, 9);
  EXPECT_EQ(of_nothing(ring, std::vector<double>{-1, 1, 0}).upper, 6);
}

TEST(Certificate, AgainstTheDirectionNothingIsDelivered) {
  const Network one_way = network_of(2, {{0, 1}}, {1}, true);
  EXPECT_EQ(of_nothing(one_way, std::vector<double>{1, -1}).upper, 1);
  const Certified stuck = certified(one_way, std::vector<double>{-1, 1}, {-1}, {0, 0});
  EXPECT_EQ(stuck.flow, std::vector<double>{0});
  EXPECT_EQ(stuck.upper, kInfinity);
  EXPECT_EQ(stuck.primal_residual, 1);
}

TEST(Certificate, AWorthlessPotentialIsReplacedByZero) {
  const Network path = network_of(2, {{0, 1}}, {1});
  const Certified result = certified(path, std::vector<double>{1, -1}, {1}, {-0.5, 0.5});
  EXPECT_EQ(result.lower, 0);
  EXPECT_EQ(result.potential, (std::vector<double>{0, 0}));
}

TEST(Certificate, OverflowIsInfiniteAndNeverNaN) {
  const Network path = network_of(3, {{0, 1}, {1, 2}}, {1e300, 1e300});
  const std::vector<double> supply{1e300, 1e300, -2e300};
  const Certified result = certified(path, supply, {1e300, 2e300}, {2e300, 1e300, 0});
  EXPECT_EQ(result.upper, kInfinity);
  EXPECT_FALSE(std::isnan(result.lower));
  const Certified wild = certified(path, supply, {1.7e308, -1.7e308}, {1.7e308, -1.7e308, 1.7e308});
  EXPECT_EQ(wild.upper, kInfinity);
  EXPECT_FALSE(std::isnan(wild.lower));
  for (const double flow : wild.flow) EXPECT_TRUE(std::isfinite(flow));
  for (const double value : wild.potential) EXPECT_TRUE(std::isfinite(value));
}

TEST(Certificate, OfNothing) {
  const Certified none = of_nothing({}, {});
  EXPECT_EQ(none.upper, 0);
  Network single;
  single.num_nodes = 1;
  EXPECT_EQ(of_nothing(single, std::vector<double>{0}).upper, 0);
  EXPECT_EQ(of_nothing(single, std::vector<double>{1}).upper, kInfinity);
  EXPECT_EQ(of_nothing(single, std::vector<double>{1}).primal_residual, 1);
  single.ground = 0;
  EXPECT_EQ(of_nothing(single, std::vector<double>{1}).upper, 0);
}

TEST(Routes, LeadFromEveryNodeToTheRootAndBack) {
  const Network network = network_of(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}}, {1, 1, 1, 1}, true);
  const Routes routes = routes_of(network, arcs_of(network));
  EXPECT_EQ(routes.root, 0);
  EXPECT_EQ(routes.to_root.order, (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(routes.to_root.arcs, (std::vector<int64_t>{-1, 2, 4, -1})) << "3 has no way to the root";
  EXPECT_EQ(routes.from_root.order, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(routes.from_root.arcs, (std::vector<int64_t>{-1, 1, 3, 7}));
}

}  // namespace
}  // namespace qw::transport
