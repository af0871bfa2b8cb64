// The distance as mathematics: closed forms, the laws of a metric (Theorems 1 and 2), and what never may
// happen.
#include "qw/transport/wasserstein.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "qw/core/random.h"
#include "support/support.h"
#include "transport/verify.h"

namespace qw {
namespace {

using test::expect_optimal;
using test::expect_valid_interval;
using test::graph_of;
using test::solve;
using test::TransportProblem;

std::vector<NodeId> all_nodes(int64_t count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return nodes;
}

// Numbers by name, so that every test draws its own.
class Draw {
 public:
  explicit Draw(uint64_t seed) : stream_(seed, 1) {}
  double uniform(double low, double high) { return low + (high - low) * stream_.uniform(next_++); }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(stream_.below(next_++, static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// Connected (a random tree and more edges); costs may be 0 or all 1.
Graph random_graph(Draw& draw, int64_t nodes, int64_t more_edges, bool directed) {
  std::vector<std::pair<NodeId, NodeId>> ends;
  for (NodeId v = 1; v < nodes; ++v) {
    const auto other = static_cast<NodeId>(draw.below(v));
    ends.emplace_back(v, other);
    if (directed) ends.emplace_back(other, v);
  }
  for (int64_t e = 0; e < more_edges; ++e) {
    ends.emplace_back(static_cast<NodeId>(draw.below(nodes)), static_cast<NodeId>(draw.below(nodes)));
  }
  std::vector<double> costs;
  const int64_t kind = draw.below(3);
  for (size_t e = 0; e < ends.size() && kind != 0; ++e) {
    costs.push_back(kind == 1 ? draw.uniform(0, 3) : static_cast<double>(draw.below(4)));
  }
  return graph_of(nodes, ends, costs, directed);
}

std::vector<NodeId> random_labels(Draw& draw, int64_t nodes, double share) {
  std::vector<NodeId> labelled;
  for (NodeId v = 0; v < nodes; ++v) {
    if (draw.uniform(0, 1) < share) labelled.push_back(v);
  }
  return labelled;
}

std::vector<double> random_values(Draw& draw, size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = draw.uniform(-1, 1);
  return values;
}

double distance(const Graph& graph, const std::vector<NodeId>& labelled, const std::vector<double>& mu,
                const std::vector<double>& gamma) {
  const TransportProblem problem{graph, labelled, mu, gamma};
  const TransportColumn result = solve(problem);
  expect_optimal(problem, result);
  return result.distance;
}

TEST(Wasserstein, OnAPathItIsTheSumOfCumulatedDifferences) {
  const std::vector<double> mu{1, 0, 2, 0.5}, gamma{0.5, 1.5, 0.25, 1.25}, costs{2, 1, 0.5};
  const TransportProblem problem{graph_of(4, {{0, 1}, {1, 2}, {2, 3}}, costs), all_nodes(4), mu, gamma};
  double expected = 0, moved = 0;
  for (size_t i = 0; i + 1 < mu.size(); ++i) {
    moved += mu[i] - gamma[i];
    expected += costs[i] * std::fabs(moved);
  }
  const TransportColumn result = solve(problem);
  expect_optimal(problem, result);
  EXPECT_NEAR(result.distance, expected, 1e-14);
}

TEST(Wasserstein, AnUnlabelledNeighbourTakesWhatIsTooMuch) {
  // 0 - 1 - 2, only 1 is labelled: what it lacks comes over the cheaper edge.
  const TransportProblem problem{graph_of(3, {{0, 1}, {1, 2}}, {3, 2}), {1}, {0.25}, {1}};
  const TransportColumn result = solve(problem);
  expect_optimal(problem, result);
  EXPECT_DOUBLE_EQ(result.distance, 1.5);
  EXPECT_DOUBLE_EQ(result.flow[1], 0.75);  // into node 1, the head of edge (1, 2)
  EXPECT_DOUBLE_EQ(result.potential[1], 2);
}

TEST(Wasserstein, MassMovesAlongAnArcAndNotAgainstIt) {
  const Graph arc = graph_of(2, {{0, 1}}, {3}, true);
  const TransportProblem along{arc, {0, 1}, {1, 0}, {0, 1}};
  const TransportColumn moved = solve(along);
  expect_optimal(along, moved);
  EXPECT_EQ(moved.distance, 3);
  EXPECT_EQ(moved.flow[0], 1);
  EXPECT_EQ(solve({arc, {0, 1}, {0, 1}, {1, 0}}).status, TransportStatus::kInfeasible);
  // An unlabelled tail gives what its head wants; an unlabelled head takes what its tail has too much of.
  EXPECT_EQ(solve({arc, {1}, {0}, {2}}).distance, 6);
  EXPECT_EQ(solve({arc, {1}, {2}, {0}}).status, TransportStatus::kInfeasible);
  EXPECT_EQ(solve({arc, {0}, {2}, {0}}).distance, 6);
  EXPECT_EQ(solve({arc, {0}, {0}, {2}}).status, TransportStatus::kInfeasible);
}

TEST(Wasserstein, NothingFlowsBetweenUnlabelledNodes) {
  Draw draw(5);
  const Graph graph = random_graph(draw, 60, 120, false);
  const std::vector<NodeId> labelled = random_labels(draw, 60, 0.4);
  const TransportProblem problem{graph, labelled, random_values(draw, labelled.size()),
                                 random_values(draw, labelled.size())};
  const TransportColumn result = solve(problem);
  expect_optimal(problem, result);
  std::vector<char> is_labelled(60, 0);
  for (const NodeId node : labelled) is_labelled[node] = 1;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    if (is_labelled[graph.heads()[e]] || is_labelled[graph.tails()[e]]) continue;
    EXPECT_EQ(result.flow[e], 0);
  }
}

TEST(Wasserstein, IsAMetricAndInvariantToShifts) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const int64_t nodes = 5 + draw.below(40);
    const Graph graph = random_graph(draw, nodes, draw.below(3 * nodes), false);
    std::vector<NodeId> labelled = random_labels(draw, nodes, 0.6);
    if (static_cast<int64_t>(labelled.size()) == nodes)
      labelled.pop_back();  // so that every problem is feasible
    const auto a = random_values(draw, labelled.size()), b = random_values(draw, labelled.size());
    const auto c = random_values(draw, labelled.size()), shift = random_values(draw, labelled.size());
    const double ab = distance(graph, labelled, a, b), bc = distance(graph, labelled, b, c);
    const double ac = distance(graph, labelled, a, c);
    EXPECT_EQ(distance(graph, labelled, a, a), 0);
    EXPECT_NEAR(ab, distance(graph, labelled, b, a), 1e-9 * ab);
    EXPECT_LE(ac, (ab + bc) * (1 + 1e-9));
    auto a_shifted = a, b_shifted = b;
    for (size_t i = 0; i < a.size(); ++i) a_shifted[i] += shift[i], b_shifted[i] += shift[i];
    EXPECT_NEAR(distance(graph, labelled, a_shifted, b_shifted), ab, 1e-9 * (1 + ab));
  }
}

TEST(Wasserstein, FewerLabelsAndFewerCostsAndMoreEdgesNeverCostMore) {
  for (uint64_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const int64_t nodes = 6 + draw.below(30);
    const Graph graph = random_graph(draw, nodes, 2 * nodes, seed % 2 == 0);
    const std::vector<NodeId> labelled = random_labels(draw, nodes - 1, 0.8);
    if (labelled.size() < 2) continue;
    const auto mu = random_values(draw, labelled.size()), gamma = random_values(draw, labelled.size());
    const double all = distance(graph, labelled, mu, gamma);
    const std::vector<NodeId> fewer(labelled.begin(), labelled.end() - 1);
    EXPECT_LE(distance(graph, fewer, {mu.begin(), mu.end() - 1}, {gamma.begin(), gamma.end() - 1}),
              all * (1 + 1e-9));
    EdgeList cheaper{nodes,
                     {graph.heads().begin(), graph.heads().end()},
                     {graph.tails().begin(), graph.tails().end()},
                     {},
                     {}};
    for (EdgeId e = 0; e < graph.num_edges(); ++e)
      cheaper.costs.push_back(test::cost_of(graph, e) * draw.uniform(0.3, 1));
    cheaper.heads.push_back(0);
    cheaper.tails.push_back(static_cast<NodeId>(nodes - 1));
    cheaper.costs.push_back(draw.uniform(0, 1));
    GraphOptions options;
    options.directed = graph.directed();
    EXPECT_LE(distance(Graph::build(cheaper, options), labelled, mu, gamma), all * (1 + 1e-9));
  }
}

TEST(Wasserstein, AllSolversAgree) {
  for (uint64_t seed = 200; seed < 260; ++seed) {
    Draw draw(seed);
    const int64_t nodes = 2 + draw.below(80);
    const Graph graph = random_graph(draw, nodes, draw.below(4 * nodes), seed % 3 == 0);
    const std::vector<NodeId> labelled = random_labels(draw, nodes, 0.7);
    TransportProblem problem{graph, labelled, random_values(draw, labelled.size()),
                             random_values(draw, labelled.size())};
    if (labelled.size() == static_cast<size_t>(nodes)) {
      problem.gamma.back() += std::accumulate(problem.mu.begin(), problem.mu.end(), 0.0) -
                              std::accumulate(problem.gamma.begin(), problem.gamma.end(), 0.0);
    }
    const TransportColumn expected = solve(problem);
    for (const TransportSolverInfo& info : transport_solvers()) {
      SCOPED_TRACE(fmt::format("seed {}, {}", seed, info.name));
      TransportOptions options;
      options.solver = info.name;
      try {
        const TransportColumn result = solve(problem, options);
        if (info.exact) {
          expect_optimal(problem, result);
          EXPECT_NEAR(result.distance, expected.distance, 1e-9 * (1e-3 + expected.distance));
        } else {
          expect_valid_interval(problem, result);
          EXPECT_LE(result.lower, expected.upper * (1 + 1e-9));
          EXPECT_GE(result.upper, expected.lower * (1 - 1e-9));
          EXPECT_LE(result.upper - result.lower, 1e-4 * (1e-3 + result.upper));
        }
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("cannot take this problem"));
      }
    }
  }
}

TEST(Wasserstein, ImbalanceIsInfeasibleAndNamed) {
  // 0 - 1 - 2 and 3 - 4, all labelled; the second part wants 0.5 more than it has.
  const TransportProblem problem{
      graph_of(5, {{0, 1}, {1, 2}, {3, 4}}), all_nodes(5), {1, 0, 0, 1, 0}, {0, 0, 1, 1, 0.5}};
  const TransportColumn result = solve(problem);
  EXPECT_EQ(result.status, TransportStatus::kInfeasible);
  EXPECT_TRUE(std::isnan(result.distance));
  EXPECT_TRUE(result.flow.empty() && result.potential.empty());
  EXPECT_EQ(result.obstacle.node, 3);
  EXPECT_EQ(result.obstacle.num_nodes, 2);
  EXPECT_DOUBLE_EQ(result.obstacle.imbalance, 0.5);
}

TEST(Wasserstein, AnIsolatedNodeMayKeepWhatItHas) {
  const Graph graph = graph_of(3, {{0, 1}});
  TransportProblem problem{graph, all_nodes(3), {1, 0, 7}, {0, 1, 7}};
  EXPECT_DOUBLE_EQ(solve(problem).distance, 1);
  problem.gamma[2] = 7.25;
  const TransportColumn result = solve(problem);
  EXPECT_EQ(result.status, TransportStatus::kInfeasible);
  EXPECT_EQ(result.obstacle.node, 2);
  EXPECT_EQ(result.obstacle.num_nodes, 1);
}

TEST(Wasserstein, AgainstTheDirectionNothingMoves) {
  const Graph graph = graph_of(2, {{0, 1}}, {}, true);
  const TransportColumn result = solve({graph, all_nodes(2), {0, 1}, {1, 0}});
  EXPECT_EQ(result.status, TransportStatus::kInfeasible);
  EXPECT_DOUBLE_EQ(result.obstacle.imbalance, 1);
  EXPECT_EQ(result.obstacle.num_nodes, 2);
}

TEST(Wasserstein, SlackMakesEverythingFeasibleAtItsPrice) {
  const Graph graph = graph_of(3, {{0, 1}}, {1.5});
  const TransportPlan plan(graph, all_nodes(3), 2.0);
  const std::vector<double> mu{0, 1, 0}, gamma{1, 0.5, 0.25};
  const TransportColumn result = plan.solve(mu, gamma, 1).front();
  EXPECT_EQ(result.status, TransportStatus::kOptimal);
  EXPECT_NEAR(result.distance, 0.5 * 1.5 + 0.5 * 2 + 0.25 * 2, 1e-12);
  EXPECT_DOUBLE_EQ(result.potential[2], 2);
  const Graph directed = graph_of(2, {{0, 1}}, {}, true);
  EXPECT_NEAR(TransportPlan(directed, all_nodes(2), 3.0)
                  .solve(std::vector<double>{0, 1}, std::vector<double>{1, 0}, 1)[0]
                  .distance,
              6, 1e-12);
}

TEST(Wasserstein, ColumnsAreApart) {
  Draw draw(7);
  const Graph graph = random_graph(draw, 30, 60, false);
  const std::vector<NodeId> labelled = random_labels(draw, 29, 0.6);
  const size_t rows = labelled.size();
  const auto mu = random_values(draw, 3 * rows), gamma = random_values(draw, 3 * rows);
  const TransportPlan plan(graph, labelled);
  const std::vector<TransportColumn> together = plan.solve(mu, gamma, 3);
  for (size_t c = 0; c < 3; ++c) {
    std::vector<double> one_mu, one_gamma;
    for (size_t i = 0; i < rows; ++i) one_mu.push_back(mu[3 * i + c]), one_gamma.push_back(gamma[3 * i + c]);
    const TransportColumn alone = plan.solve(one_mu, one_gamma, 1).front();
    EXPECT_EQ(together[c].flow, alone.flow);
    EXPECT_EQ(together[c].potential, alone.potential);
    EXPECT_EQ(together[c].distance, alone.distance);
  }
}

TEST(Wasserstein, SameBitsForAnyNumberOfThreads) {
  Draw draw(11);
  const Graph graph = random_graph(draw, 200, 600, false);
  const std::vector<NodeId> labelled = random_labels(draw, 199, 0.6);
  const auto mu = random_values(draw, 4 * labelled.size()), gamma = random_values(draw, 4 * labelled.size());
  const auto run = [&](int threads) {
    const test::ScopedThreads scope(threads);
    return TransportPlan(graph, labelled).solve(mu, gamma, 4);
  };
  const auto one = run(1), two = run(2);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(one[c].flow, two[c].flow);
    EXPECT_EQ(one[c].potential, two[c].potential);
  }
}

TEST(Wasserstein, MemoryDoesNotChangeTheDistanceAndSurvivesACheckpoint) {
  Draw draw(13);
  const Graph graph = random_graph(draw, 150, 400, false);
  const std::vector<NodeId> labelled = random_labels(draw, 149, 0.6);
  const TransportPlan plan(graph, labelled);
  const auto gamma = random_values(draw, 2 * labelled.size());
  auto mu = random_values(draw, 2 * labelled.size());
  TransportPlan::Memory memory;
  for (int step = 0; step < 5; ++step) {
    for (double& value : mu) value += draw.uniform(-0.1, 0.1);
    TransportPlan::Memory restored = plan.remembered(plan.saved(memory, 2), 2);
    TransportOptions options;
    options.solver = "network-simplex";
    const auto warm = plan.solve(mu, gamma, 2, options, &memory);
    const auto resumed = plan.solve(mu, gamma, 2, options, &restored);
    const auto cold = plan.solve(mu, gamma, 2, options);
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(warm[c].flow, resumed[c].flow);
      EXPECT_EQ(warm[c].potential, resumed[c].potential);
      EXPECT_NEAR(warm[c].distance, cold[c].distance, 1e-9 * cold[c].distance);
    }
  }
  EXPECT_EQ(plan.memory_size(2), static_cast<int64_t>(plan.saved(memory, 2).size()));
}

TEST(Wasserstein, ATimeLimitOfNothingStillGivesAnInterval) {
  Draw draw(17);
  const Graph graph = random_graph(draw, 500, 1500, false);
  const std::vector<NodeId> labelled = random_labels(draw, 499, 0.6);
  const TransportProblem problem{graph, labelled, random_values(draw, labelled.size()),
                                 random_values(draw, labelled.size())};
  const double exact = solve(problem).distance;
  TransportOptions options;
  options.time_limit = 0;
  const TransportColumn result = solve(problem, options);
  EXPECT_EQ(result.status, TransportStatus::kTimeLimit);
  expect_valid_interval(problem, result);
  EXPECT_LE(result.lower, exact);
  EXPECT_GE(result.upper, exact);
}

TEST(Wasserstein, ExtremeNumbersNeitherHangNorOverflow) {
  for (const double size : {1e-300, 1e-12, 1e12, 1e280}) {
    for (const double cost : {1e-300, 1.0, 1e20}) {
      SCOPED_TRACE(fmt::format("{} {}", size, cost));
      const TransportProblem problem{
          graph_of(3, {{0, 1}, {1, 2}}, {cost, 3 * cost}), all_nodes(3), {size, 0, 0}, {0, 0, size}};
      const TransportColumn result = solve(problem);
      EXPECT_EQ(result.status, TransportStatus::kOptimal);
      EXPECT_NEAR(result.distance / size / cost, size * cost == 0 ? 0 : 4, 1e-6);
    }
  }
}

TEST(Wasserstein, EmptyThings) {
  EXPECT_EQ(solve({graph_of(0, {}), {}, {}, {}}).distance, 0);
  EXPECT_EQ(solve({graph_of(3, {{0, 1}}), {}, {}, {}}).distance, 0);
  EXPECT_EQ(solve({graph_of(1, {}), {0}, {2}, {2}}).distance, 0);
  const TransportPlan plan(graph_of(2, {{0, 1}}), all_nodes(2));
  EXPECT_TRUE(plan.solve({}, {}, 0).empty());
  EXPECT_EQ(plan.num_labelled(), 2);
  EXPECT_EQ(plan.num_pieces(), 1);
}

TEST(Wasserstein, SaysWhatIsWrong) {
  const Graph graph = graph_of(3, {{0, 1}, {1, 2}});
  const auto message = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message([&] { TransportPlan(graph, std::vector<NodeId>{3}); }),
            "labelled node 3 is not one of the graph's 3 nodes");
  EXPECT_EQ(message([&] {
              TransportPlan(graph, std::vector<NodeId>{1, 1});
            }),
            "labelled node 1 is named twice");
  EXPECT_EQ(message([&] { TransportPlan(graph, std::vector<NodeId>{1}, 0.0); }),
            "the slack cost must be positive, not 0");
  const TransportPlan plan(graph, std::vector<NodeId>{0, 2});
  const std::vector<double> two{1, 2}, three{1, 2, 3}, bad{1, std::nan("")};
  EXPECT_EQ(message([&] { plan.solve(two, three, 1); }),
            "mu and gamma must have 2 values each, one for each of 2 labelled nodes and 1 columns; they have "
            "2 and 3");
  EXPECT_EQ(message([&] { plan.solve(two, bad, 1); }),
            "gamma is nan in row 1, column 0; values must be finite");
  TransportOptions options;
  options.solver = "simplx";
  EXPECT_THAT(message([&] { plan.solve(two, two, 1, options); }),
              testing::StartsWith("transport solver 'simplx' is unknown; known: auto, network-simplex"));
}

TEST(Wasserstein, StatusesHaveNames) {
  EXPECT_STREQ(name(TransportStatus::kOptimal), "optimal");
  EXPECT_STREQ(name(TransportStatus::kInfeasible), "infeasible");
  EXPECT_STREQ(name(TransportStatus::kTimeLimit), "time_limit");
  EXPECT_STREQ(name(TransportStatus::kApproximate), "approximate");
  EXPECT_STREQ(name(TransportStatus::kCancelled), "cancelled");
}

}  // namespace
}  // namespace qw
