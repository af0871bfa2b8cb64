// Numbers at the ends of what a double holds, most of them found by fuzz/transport_fuzz.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qw/core/error.h"
#include "transport/verify.h"

namespace qw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiniest = std::numeric_limits<double>::denorm_min();

test::TransportProblem path_of(std::vector<double> costs, std::vector<double> mu, std::vector<double> gamma,
                               bool directed = false) {
  test::TransportProblem problem;
  EdgeList edges;
  edges.num_nodes = static_cast<int64_t>(mu.size());
  for (NodeId node = 0; node < edges.num_nodes; ++node) {
    problem.labelled.push_back(node);
    if (node == 0) continue;
    edges.heads.push_back(node - 1);
    edges.tails.push_back(node);
  }
  edges.costs = std::move(costs);
  GraphOptions options;
  options.directed = directed;
  problem.graph = Graph::build(std::move(edges), options);
  problem.mu = std::move(mu);
  problem.gamma = std::move(gamma);
  return problem;
}

std::vector<std::pair<std::string, TransportColumn>> by_exact_solvers(const test::TransportProblem& problem) {
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

TEST(Extremes, ADifferenceOfRoundingAloneIsNoDistance) {
  const double sum = 0.1 + 0.2;  // not 0.3
  for (const auto& problem : {path_of({}, {sum, 0.7}, {0.3, 0.7}), path_of({}, {0.7, sum}, {0.7, 0.3}),
                              path_of({}, {1e9, 1, 3}, {1e9 + 1e-6, 1, 3})}) {
    for (const auto& [solver, result] : by_exact_solvers(problem)) {
      SCOPED_TRACE(solver);
      EXPECT_EQ(result.status, TransportStatus::kOptimal);
      EXPECT_LE(result.upper, 1e-5);
      EXPECT_LE(result.primal_residual, 1e-5);
    }
  }
}

TEST(Extremes, TheSmallestNumbersTakeTheShortestWay) {
  test::TransportProblem problem = path_of({2, 1}, {3 * kTiniest, 0, 0}, {0, kTiniest, 2 * kTiniest});
  problem.graph = Graph::build({3, {0, 1, 0}, {1, 2, 2}, {2, 1, 9}, {}});
  for (const auto& [solver, result] : by_exact_solvers(problem)) {
    SCOPED_TRACE(solver);
    EXPECT_EQ(result.upper, 8 * kTiniest);
    EXPECT_EQ(result.lower, 8 * kTiniest);
  }
}

TEST(Extremes, TheSmallestCostsAreSeen) {
  for (const auto& [solver, result] :
       by_exact_solvers(path_of({kTiniest, 3 * kTiniest}, {1, 0, 0}, {0, 0, 1}))) {
    SCOPED_TRACE(solver);
    EXPECT_EQ(result.upper, 4 * kTiniest);
  }
}

TEST(Extremes, ADistanceBeyondAllNumbersIsInfiniteNotNaN) {
  for (const auto& [solver, result] :
       by_exact_solvers(path_of({1e300, 1e307, 1.7e308}, {1e300, 0, 2, 0}, {0, 1e300, 1, 1}))) {
    SCOPED_TRACE(solver);
    EXPECT_EQ(result.upper, kInfinity);
    EXPECT_FALSE(std::isnan(result.lower));
    for (const double flow : result.flow) EXPECT_TRUE(std::isfinite(flow));
    for (const double value : result.potential) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Extremes, ValuesWhoseSumOverflowsAreAnError) {
  for (const auto& problem :
       {path_of({}, {1.7e308, 0}, {0, 1.7e308}), path_of({}, {-1.7e308, 0}, {1.7e308, 0})}) {
    try {
      test::solve(problem);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "the values of column 0 are too large: the sum of their magnitudes overflows");
    }
  }
}

TEST(Extremes, WithoutAFlowInTimeNothingIsOptimal) {
  TransportOptions options;
  options.time_limit = 0;
  const TransportColumn result = test::solve(path_of({}, {1, 0}, {0, 1}, true), options);
  EXPECT_EQ(result.status, TransportStatus::kTimeLimit);
  EXPECT_EQ(result.upper, kInfinity);
}

}  // namespace
}  // namespace qw
