// Checks of a result against the definition, with nothing taken from the library's own certificate.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "qw/transport/wasserstein.h"

namespace qw::test {

inline Graph graph_of(int64_t nodes, const std::vector<std::pair<NodeId, NodeId>>& ends,
                      std::vector<double> costs = {}, bool directed = false,
                      EdgePolicy repeated = EdgePolicy::kDrop) {
  EdgeList edges;
  edges.num_nodes = nodes;
  for (const auto& [from, to] : ends) {
    edges.tails.push_back(from);
    edges.heads.push_back(to);
  }
  edges.costs = std::move(costs);
  GraphOptions options;
  options.directed = directed;
  options.duplicates = options.self_loops = repeated;
  return Graph::build(std::move(edges), options);
}

struct TransportProblem {
  Graph graph;
  std::vector<NodeId> labelled;
  std::vector<double> mu;
  std::vector<double> gamma;
};

inline double cost_of(const Graph& graph, EdgeId edge) {
  return graph.costs().empty() ? 1.0 : graph.costs()[edge];
}

inline TransportColumn solve(const TransportProblem& problem, const TransportOptions& options = {}) {
  const TransportPlan plan(problem.graph, problem.labelled);
  return plan.solve(problem.mu, problem.gamma, 1, options).front();
}

// The flow delivers, the potential is feasible, the bounds are what they are worth.
inline void expect_valid_interval(const TransportProblem& problem, const TransportColumn& result,
                                  double tolerance = 1e-9) {
  const Graph& graph = problem.graph;
  ASSERT_EQ(result.flow.size(), graph.num_edges());
  ASSERT_EQ(result.potential.size(), graph.num_nodes());
  double scale = 1e-300;
  for (size_t i = 0; i < problem.labelled.size(); ++i)
    scale += std::fabs(problem.mu[i]) + std::fabs(problem.gamma[i]);
  std::vector<double> received(graph.num_nodes(), 0.0);
  double cost = 0, violation = 0, largest_potential = 0;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const NodeId head = graph.heads()[e], tail = graph.tails()[e];
    received[head] += result.flow[e];
    received[tail] -= result.flow[e];
    cost += cost_of(graph, e) * std::fabs(result.flow[e]);
    const double difference = result.potential[head] - result.potential[tail];
    violation =
        std::max(violation, (graph.directed() ? difference : std::fabs(difference)) - cost_of(graph, e));
    if (graph.directed()) {
      EXPECT_GE(result.flow[e], 0) << e;
    }
  }
  double value = 0;
  std::vector<char> is_labelled(graph.num_nodes(), 0);
  for (size_t i = 0; i < problem.labelled.size(); ++i) {
    const NodeId node = problem.labelled[i];
    is_labelled[node] = 1;
    value += result.potential[node] * (problem.gamma[i] - problem.mu[i]);
    EXPECT_NEAR(received[node], problem.gamma[i] - problem.mu[i], tolerance * scale) << "node " << node;
  }
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    largest_potential = std::max(largest_potential, std::fabs(result.potential[node]));
    if (!is_labelled[node]) {
      EXPECT_EQ(result.potential[node], 0) << node;
    }
  }
  EXPECT_LE(violation, 1e-12 * (1 + largest_potential));
  EXPECT_NEAR(cost, result.upper, tolerance * (1 + cost));
  EXPECT_NEAR(std::max(0.0, value), result.lower, tolerance * (1 + cost));
  EXPECT_LE(result.lower, result.upper);
}

inline void expect_optimal(const TransportProblem& problem, const TransportColumn& result,
                           double gap = 1e-9) {
  ASSERT_EQ(result.status, TransportStatus::kOptimal);
  expect_valid_interval(problem, result);
  EXPECT_LE(result.upper - result.lower, gap * result.upper);
  EXPECT_EQ(result.distance, result.upper);
}

}  // namespace qw::test
