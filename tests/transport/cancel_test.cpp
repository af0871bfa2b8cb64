// Who asks for a distance may change their mind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "core/deadline.h"
#include "qw/core/error.h"
#include "qw/core/random.h"
#include "transport/verify.h"

namespace qw {
namespace {

// Every labelled node has an unlabelled neighbour and all costs are 1: a problem for every solver.
test::TransportProblem large_problem() {
  constexpr int64_t kNodes = 6000;
  const RandomStream stream(5, 5);
  uint64_t next = 0;
  std::vector<std::pair<NodeId, NodeId>> ends;
  test::TransportProblem problem;
  for (NodeId v = 1; v < kNodes; ++v) {
    ends.emplace_back(v, 0);
    for (int i = 0; i < 10; ++i)
      ends.emplace_back(v, static_cast<NodeId>(stream.below(next++, static_cast<uint64_t>(v))));
    problem.labelled.push_back(v);
    problem.mu.push_back(stream.uniform(next++));
    problem.gamma.push_back(stream.uniform(next++));
  }
  problem.graph = test::graph_of(kNodes, ends);
  return problem;
}

std::vector<TransportSolverInfo> solvers_of_ours() {
  std::vector<TransportSolverInfo> solvers;
  for (const TransportSolverInfo& info : transport_solvers()) {
    if (!info.name.starts_with("lemon")) solvers.push_back(info);
  }
  return solvers;
}

TEST(Cancelling, AtOnceGivesAnInterval) {
  const test::TransportProblem problem = large_problem();
  const double exact = test::solve(problem).distance;
  for (const TransportSolverInfo& info : transport_solvers()) {
    SCOPED_TRACE(info.name);
    TransportOptions options;
    options.solver = info.name;
    options.cancelled = [] { return true; };
    const TransportColumn result = test::solve(problem, options);
    EXPECT_EQ(result.status, TransportStatus::kCancelled);
    test::expect_valid_interval(problem, result);
    EXPECT_LE(result.lower, exact);
    EXPECT_GE(result.upper, exact);
  }
}

TEST(Cancelling, AfterSomeQuestionsGivesAnInterval) {
  const test::TransportProblem problem = large_problem();
  const double exact = test::solve(problem).distance;
  for (const TransportSolverInfo& info : solvers_of_ours()) {
    for (const int patience : {2, 3}) {
      SCOPED_TRACE(fmt::format("{}, {} questions", info.name, patience));
      std::atomic<int> asked = 0;
      TransportOptions options;
      options.solver = info.name;
      options.cancelled = [&] { return ++asked >= patience; };
      const TransportColumn result = test::solve(problem, options);
      EXPECT_GE(asked, patience);
      EXPECT_EQ(result.status, TransportStatus::kCancelled);
      test::expect_valid_interval(problem, result);
      EXPECT_LE(result.lower, exact * (1 + 1e-12));
      EXPECT_GE(result.upper, exact * (1 - 1e-12));
    }
  }
}

TEST(Cancelling, ARefusalToCancelChangesNothing) {
  const test::TransportProblem problem = large_problem();
  TransportOptions options;
  std::atomic<int> asked = 0;
  options.cancelled = [&] {
    ++asked;
    return false;
  };
  const TransportColumn result = test::solve(problem, options);
  const TransportColumn plain = test::solve(problem);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(result.status, TransportStatus::kOptimal);
  EXPECT_EQ(result.distance, plain.distance);
  EXPECT_EQ(result.flow, plain.flow);
}

TEST(Cancelling, WhatWasClosedByThenIsOptimal) {
  const test::TransportProblem problem{test::graph_of(2, {{0, 1}}), {0, 1}, {1, 1}, {1, 1}};
  TransportOptions options;
  options.cancelled = [] { return true; };
  EXPECT_EQ(test::solve(problem, options).status, TransportStatus::kOptimal);
}

TEST(Deadline, AWishIsAskedUntilItIsExpressedAndThenRemembered) {
  int asked = 0;
  const Deadline deadline = Deadline::never().or_when([&] { return ++asked == 2; });
  EXPECT_FALSE(deadline.comes());
  EXPECT_FALSE(deadline.passed());
  EXPECT_FALSE(deadline.was_cancelled());
  const Deadline copy = deadline;
  EXPECT_TRUE(copy.passed());
  EXPECT_TRUE(deadline.passed());
  EXPECT_TRUE(deadline.was_cancelled());
  EXPECT_FALSE(deadline.is_over());
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(Deadline::never().or_when({}).passed());
}

}  // namespace
}  // namespace qw
