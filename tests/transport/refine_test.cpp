// Costs and values of many orders of magnitude: the interval holds, and it closes where 128 bits are enough.
#include "transport/refine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "qw/core/error.h"
#include "qw/core/random.h"
#include "transport/least_cost.h"
#include "transport/verify.h"

namespace qw {
namespace {

using test::TransportProblem;

constexpr double kRounding = 1e-13;  // of sums of doubles

class Draw {
 public:
  explicit Draw(uint64_t seed) : stream_(seed, 22) {}
  double uniform(double low, double high) { return low + (high - low) * stream_.uniform(next_++); }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(stream_.below(next_++, static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

struct Drawn {
  TransportProblem problem;
  int cost_exponent = 0;
  int value_exponent = 0;
};

// A tree and more edges, with costs from `cost`; values, from `value`, sum to 0 when every node is labelled.
template <class Cost, class Value>
TransportProblem draw_problem(Draw& draw, Cost&& cost, Value&& value) {
  TransportProblem problem;
  const int64_t nodes = 2 + draw.below(8);
  const bool directed = draw.below(3) == 0;
  const bool all_labelled = draw.below(2) == 0;
  std::vector<std::pair<NodeId, NodeId>> ends;
  for (NodeId v = 1; v < nodes; ++v) {
    const auto other = static_cast<NodeId>(draw.below(v));
    ends.emplace_back(v, other);
    if (directed) ends.emplace_back(other, v);
  }
  for (int64_t more = draw.below(2 * nodes); more > 0; --more)
    ends.emplace_back(static_cast<NodeId>(draw.below(nodes)), static_cast<NodeId>(draw.below(nodes)));
  std::vector<double> costs;
  for (size_t e = 0; e < ends.size(); ++e) costs.push_back(cost());
  problem.graph = test::graph_of(nodes, ends, costs, directed);
  double sum = 0;
  for (NodeId v = 0; v < nodes; ++v) {
    if (!all_labelled && draw.below(3) == 0) continue;
    problem.labelled.push_back(v);
    problem.mu.push_back(draw.below(2) == 0 ? value() : 0);
    problem.gamma.push_back(draw.below(2) == 0 ? value() : 0);
    sum += problem.gamma.back() - problem.mu.back();
  }
  if (static_cast<int64_t>(problem.labelled.size()) == nodes) problem.mu.back() += sum;
  return problem;
}

// Costs 10^U(-6, 6); values of 12 orders of magnitude, as multiples of 2^-20 whose sums are exact.
Drawn ordinary_problem(uint64_t seed) {
  Draw draw(seed);
  return {draw_problem(
              draw, [&] { return std::pow(10.0, draw.uniform(-6, 6)); },
              [&] { return std::ldexp(std::floor(std::pow(10.0, draw.uniform(0, 12))), -20); }),
          -73, -20};
}

// Powers of two over 30 orders of magnitude. With every node labelled their sums may need more digits than a
// double has, so that only two sizes of values are drawn there.
Drawn extreme_problem(uint64_t seed) {
  Draw draw(seed);
  const int64_t small = draw.below(50);
  return {draw_problem(
              draw, [&] { return std::ldexp(1.0, static_cast<int>(draw.below(100))); },
              [&] { return std::ldexp(1.0, static_cast<int>(draw.below(2) == 0 ? small : 50)); }),
          0, 0};
}

// What a result must be, whatever its status. Returns whether it is optimal.
bool expect_truth(const Drawn& drawn, const TransportColumn& result) {
  const std::optional<double> expected =
      test::LeastCost(drawn.problem, drawn.cost_exponent, drawn.value_exponent).distance();
  EXPECT_EQ(result.status != TransportStatus::kInfeasible, expected.has_value());
  if (!expected || result.status == TransportStatus::kInfeasible) return true;
  EXPECT_LE(result.lower, *expected * (1 + kRounding));
  EXPECT_GE(result.upper, *expected * (1 - kRounding));
  EXPECT_EQ(result.status == TransportStatus::kOptimal, result.upper - result.lower <= 1e-9 * result.upper);
  return result.status == TransportStatus::kOptimal;
}

std::vector<std::pair<std::string, TransportColumn>> by_all_solvers(const TransportProblem& problem) {
  std::vector<std::pair<std::string, TransportColumn>> results;
  for (const TransportSolverInfo& info : transport_solvers()) {
    if (!info.exact || info.name.starts_with("lemon")) continue;
    TransportOptions options;
    options.solver = info.name;
    try {
      results.emplace_back(info.name, test::solve(problem, options));
    } catch (const Error&) {  // refused
    }
  }
  return results;
}

TEST(Refinement, ClosesTheIntervalOverTwelveOrdersOfMagnitude) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Drawn drawn = ordinary_problem(seed);
    for (const auto& [solver, result] : by_all_solvers(drawn.problem)) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, solver));
      EXPECT_TRUE(expect_truth(drawn, result)) << result.lower << " " << result.upper;
    }
  }
}

TEST(Refinement, TheIntervalHoldsOverThirtyOrdersOfMagnitude) {
  int count = 0, optimal = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Drawn drawn = extreme_problem(seed);
    for (const auto& [solver, result] : by_all_solvers(drawn.problem)) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, solver));
      ++count;
      optimal += expect_truth(drawn, result) ? 1 : 0;
    }
  }
  EXPECT_GT(optimal, 0.95 * count) << count;
  RecordProperty("optimal", optimal);
}

// The distance needs the cheap edges only; 1e300 beside them must not hide what they cost.
TEST(Refinement, AnEdgeThatNobodyUsesCostsNoDigits) {
  const std::vector<double> costs{1e300, 1, 1e-300};
  for (const bool ring : {false, true}) {
    std::vector<std::pair<NodeId, NodeId>> ends{{0, 1}, {1, 2}, {2, ring ? 0 : 3}};
    const int64_t nodes = ring ? 3 : 4;
    std::vector<NodeId> labelled(nodes);
    std::iota(labelled.begin(), labelled.end(), NodeId{0});
    TransportProblem problem{test::graph_of(nodes, ends, costs), labelled, {}, {}};
    problem.mu = ring ? std::vector<double>{3, 0, 0} : std::vector<double>{0, 3, 0, 0};
    problem.gamma = ring ? std::vector<double>{0, 3, 0} : std::vector<double>{0, 0, 0, 3};
    for (const auto& [solver, result] : by_all_solvers(problem)) {
      SCOPED_TRACE(fmt::format("{}, ring {}", solver, ring));
      EXPECT_EQ(result.status, TransportStatus::kOptimal);
      EXPECT_EQ(result.upper, 3);
      EXPECT_EQ(result.lower, 3);
    }
  }
}

// 1e300 units over 1e-300 and 1e-300 units over 1e300: no integers of ours hold both.
TEST(Refinement, WhatDoesNotCloseIsNotCalledOptimal) {
  const TransportProblem problem{test::graph_of(4, {{0, 1}, {1, 2}, {2, 3}}, {1e-300, 1, 1e300}),
                                 {0, 1, 2, 3},
                                 {1e300, 0, 1e-300, 0},
                                 {0, 1e300, 0, 1e-300}};
  const TransportColumn result = test::solve(problem);
  EXPECT_EQ(result.status, TransportStatus::kApproximate);
  EXPECT_LE(result.lower, 2 * (1 + kRounding));
  EXPECT_GE(result.upper, 2 * (1 - kRounding));
}

// gamma - mu has more digits than a double, and the last of them pay the most.
TEST(Refinement, DigitsThatADifferenceLosesCount) {
  const TransportProblem problem{
      test::graph_of(3, {{0, 1}, {1, 2}}, {1e-6, 1e6}), {0, 1}, {1e6, 0}, {1e-9, 1e6}};
  const TransportColumn result = test::solve(problem);
  EXPECT_EQ(result.status, TransportStatus::kOptimal);
  EXPECT_NEAR(result.distance, 1 + 1e-3, 1e-9);
}

TEST(Refinement, GoesOnlyAsFarAsTheGapAsks) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Drawn drawn = ordinary_problem(seed);
    TransportOptions options;
    options.gap = 1e-2;
    const TransportColumn result = test::solve(drawn.problem, options);
    if (result.status == TransportStatus::kInfeasible) continue;
    EXPECT_EQ(result.status, TransportStatus::kOptimal);
    EXPECT_LE(result.upper - result.lower, 1e-2 * result.upper);
  }
}

}  // namespace

namespace transport {
namespace {

struct Ends {
  Network network;
  Arcs arcs;
  Supply supply;
};

// 0 - 1 - 2, with costs that 52 bits do not hold together.
Ends wide_path() {
  Ends ends;
  ends.network.num_nodes = 3;
  ends.network.sources = {0, 1};
  ends.network.targets = {1, 2};
  ends.network.costs = {1e-9, 1e9};
  ends.arcs = arcs_of(ends.network);
  ends.supply = supply_of(std::vector<double>{1, 0, 0}, std::vector<double>{0, 1, 0}, 3);
  return ends;
}

TEST(Refine, StopsAtTheDeadline) {
  const Ends ends = wide_path();
  Certified certified;
  certified.upper = 1;
  EXPECT_FALSE(
      refine(ends.network, ends.arcs, ends.supply, {0}, 1e-9, Deadline::after_seconds(0), certified));
  EXPECT_EQ(certified.upper, 1);
}

TEST(Refine, LeavesAClosedIntervalAlone) {
  const Ends ends = wide_path();
  Certified certified;
  certified.upper = certified.lower = 7;
  EXPECT_TRUE(refine(ends.network, ends.arcs, ends.supply, {0}, 1e-9, Deadline::never(), certified));
  EXPECT_EQ(certified.upper, 7);
}

TEST(Refine, StartsFromAnyEdges) {
  const Ends ends = wide_path();
  for (const std::vector<int64_t>& used : {std::vector<int64_t>{}, {0}, {1}, {0, 1}}) {
    Certified certified;
    certified.upper = 1;
    EXPECT_TRUE(refine(ends.network, ends.arcs, ends.supply, used, 1e-9, Deadline::never(), certified));
    EXPECT_EQ(certified.upper, 1e-9);
    EXPECT_EQ(certified.lower, 1e-9);
    EXPECT_EQ(certified.flow, (std::vector<double>{1, 0}));
  }
}

TEST(CertifyOptimum, RefusesWhatIsNone) {
  const Ends ends = wide_path();
  const WideIntegers integers = wide_integers_of(ends.network, ends.supply, 1e9);
  const Wide unit = integers.supplies[0];
  const Wide cost = integers.costs[0];
  const auto accepts = [&](std::vector<Wide> flow, std::vector<Wide> potential) {
    return certify_optimum(ends.network, ends.supply, integers, flow, potential).has_value();
  };
  EXPECT_TRUE(accepts({unit, 0}, {cost, 0, 0}));
  EXPECT_FALSE(accepts({unit - 1, 0}, {cost, 0, 0})) << "does not deliver";
  EXPECT_FALSE(accepts({unit, 0}, {cost + 1, 0, 0})) << "not feasible";
  EXPECT_FALSE(accepts({unit, 0}, {cost - 1, 0, 0})) << "not tight";
}

TEST(Certificate, WhatIsNotDeliveredIsPaidForInTheUpperBound) {
  Ends ends = wide_path();
  // So little is left behind that it is not worth a way, but that way is dear.
  const std::vector<double> supply{1, -1 - 1e-13, 1e-13};
  const Certified certified =
      certify(ends.network, ends.arcs, routes_of(ends.network, ends.arcs), supply, {1, 0}, {1e-9, 0, 0});
  EXPECT_GE(certified.upper, 1e-9 + 1e-4);
}

}  // namespace
}  // namespace transport
}  // namespace qw
