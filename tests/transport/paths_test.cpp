#include "qw/transport/paths.h"

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "qw/transport/wasserstein.h"
#include "support/support.h"

namespace qw {
namespace {

using Edges = std::vector<std::pair<NodeId, NodeId>>;

Graph graph_of(int64_t nodes, const Edges& edges, bool directed = false, bool self_loops = false) {
  GraphOptions options;
  options.directed = directed;
  options.self_loops = self_loops ? EdgePolicy::kKeep : EdgePolicy::kError;
  options.duplicates = EdgePolicy::kKeep;
  return Graph::build(test::edge_list(nodes, edges), options);
}

std::vector<double> sent_by_nodes(const Graph& graph, std::span<const double> flow) {
  std::vector<double> sent(graph.num_nodes(), 0.0);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    sent[graph.tails()[e]] += flow[e];
    sent[graph.heads()[e]] -= flow[e];
  }
  return sent;
}

// Adds each path to a flow; checks that it is a path from its source to its sink that visits nobody twice.
std::vector<double> flow_of(const Graph& graph, const std::vector<FlowPath>& paths) {
  std::vector<double> flow(graph.num_edges(), 0.0);
  for (const FlowPath& path : paths) {
    EXPECT_GT(path.amount, 0);
    EXPECT_FALSE(path.edges.empty());
    const std::vector<NodeId> nodes = nodes_along(graph, path);
    EXPECT_EQ(nodes.front(), path.source);
    EXPECT_EQ(nodes.back(), path.sink);
    EXPECT_EQ(std::set<NodeId>(nodes.begin(), nodes.end()).size(), path.edges.size() + 1);
    for (size_t i = 0; i < path.edges.size(); ++i) {
      const EdgeId e = path.edges[i];
      const bool forwards = graph.tails()[e] == nodes[i] && graph.heads()[e] == nodes[i + 1];
      const bool backwards = graph.heads()[e] == nodes[i] && graph.tails()[e] == nodes[i + 1];
      EXPECT_TRUE(forwards || (backwards && !graph.directed())) << "edge " << e;
      flow[e] += forwards ? path.amount : -path.amount;
    }
  }
  return flow;
}

// Whatever was not put into paths runs in circles, with the flow and not against it.
void expect_decomposes(const Graph& graph, std::span<const double> flow, double near) {
  const FlowDecomposition found = decompose_flow(graph, flow, 1e-12);
  const std::vector<double> by_paths = flow_of(graph, found.paths);
  double in_circles = 0;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const double rest = flow[e] - by_paths[e];
    EXPECT_GE(rest * std::copysign(1.0, flow[e]), -near) << "edge " << e << " carries more than it had";
    EXPECT_LE(std::fabs(rest), std::fabs(flow[e]) + near) << "edge " << e << " carries the other way";
    in_circles += std::fabs(rest);
  }
  EXPECT_EQ(in_circles > 100 * near, found.cycles > 0) << in_circles;
  const std::vector<double> sent = sent_by_nodes(graph, flow), again = sent_by_nodes(graph, by_paths);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) EXPECT_NEAR(sent[v], again[v], near) << "node " << v;
  for (const FlowPath& path : found.paths) {
    EXPECT_GT(sent[path.source], 0);
    EXPECT_LT(sent[path.sink], 0);
  }
  EXPECT_LE(found.paths.size(), static_cast<size_t>(graph.num_edges() + graph.num_nodes()));
}

// The node's paths begin or end at it, are carried by the flow and bring what the flow brings.
void expect_explains(const Graph& graph, std::span<const double> flow, NodeId node, double near) {
  const FlowDecomposition found = paths_of_node(graph, flow, node, 1e-12);
  const double sent = sent_by_nodes(graph, flow)[node];
  double total = 0;
  for (const FlowPath& path : found.paths) {
    EXPECT_EQ(sent > 0 ? path.source : path.sink, node);
    total += path.amount;
  }
  EXPECT_NEAR(total, std::fabs(sent), near) << "node " << node;
  const std::vector<double> by_paths = flow_of(graph, found.paths);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    EXPECT_LE(std::fabs(by_paths[e]), std::fabs(flow[e]) + near) << "edge " << e;
    EXPECT_GE(by_paths[e] * flow[e], -near) << "edge " << e;
  }
}

TEST(FlowPaths, NothingFlows) {
  const Graph graph = graph_of(4, {{0, 1}, {1, 2}});
  const FlowDecomposition found = decompose_flow(graph, std::vector<double>{0, 0});
  EXPECT_TRUE(found.paths.empty());
  EXPECT_EQ(found.cycles, 0);
  EXPECT_TRUE(paths_of_node(graph, std::vector<double>{0, 0}, 3).paths.empty());
  EXPECT_TRUE(decompose_flow(Graph(), {}).paths.empty());
}

TEST(FlowPaths, OnATreeThereIsOneWay) {
  // 0 - 1 - 2, and 3 hangs on 1: node 0 sends 3, node 3 sends 1, node 2 receives 4.
  const Graph graph = graph_of(4, {{0, 1}, {1, 2}, {1, 3}});
  const std::vector<double> flow{-3, -4, 1};  // the head of an undirected edge is its lower node
  const FlowDecomposition found = decompose_flow(graph, flow);
  ASSERT_EQ(found.paths.size(), 2U);
  EXPECT_EQ(found.cycles, 0);
  EXPECT_EQ(found.paths[0].source, 0);
  EXPECT_EQ(found.paths[0].sink, 2);
  EXPECT_EQ(found.paths[0].amount, 3);
  EXPECT_EQ(found.paths[0].edges, (std::vector<EdgeId>{0, 1}));
  EXPECT_EQ(found.paths[1].source, 3);
  EXPECT_EQ(found.paths[1].amount, 1);
  EXPECT_EQ(found.paths[1].edges, (std::vector<EdgeId>{2, 1}));
  EXPECT_EQ(nodes_along(graph, found.paths[1]), (std::vector<NodeId>{3, 1, 2}));

  const FlowDecomposition received = paths_of_node(graph, flow, 2);
  ASSERT_EQ(received.paths.size(), 2U);
  EXPECT_EQ(received.paths[0].edges, (std::vector<EdgeId>{0, 1}));
  EXPECT_EQ(received.paths[1].edges, (std::vector<EdgeId>{2, 1}));
  EXPECT_EQ(received.paths[1].source, 3);
  const FlowDecomposition sent = paths_of_node(graph, flow, 3);
  ASSERT_EQ(sent.paths.size(), 1U);
  EXPECT_EQ(sent.paths[0].sink, 2);
  EXPECT_TRUE(paths_of_node(graph, flow, 1).paths.empty()) << "what passes through neither begins nor ends";
}

TEST(FlowPaths, OnAnArcTheTailIsTheSource) {
  const Graph graph = graph_of(2, {{0, 1}}, true);
  const FlowDecomposition found = decompose_flow(graph, std::vector<double>{2});
  ASSERT_EQ(found.paths.size(), 1U);
  EXPECT_EQ(found.paths[0].source, 0);
  EXPECT_EQ(found.paths[0].sink, 1);
  EXPECT_EQ(found.paths[0].amount, 2);
}

TEST(FlowPaths, CyclesAreCancelledAndCounted) {
  // A path 0 - 1 - 4 of 1 that runs into the circle 1 -> 2 -> 3 -> 1 of 5, and a circle 5 -> 6 -> 7
  // elsewhere.
  const Graph graph = graph_of(8, {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {1, 4}, {5, 6}, {5, 7}, {6, 7}});
  std::vector<double> flow;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const auto ends = std::pair(graph.heads()[e], graph.tails()[e]);
    const std::map<std::pair<NodeId, NodeId>, double> of{{{0, 1}, -1}, {{1, 2}, -5}, {{1, 3}, 5},
                                                         {{2, 3}, -5}, {{1, 4}, -1}, {{5, 6}, -2},
                                                         {{5, 7}, 2},  {{6, 7}, -2}};
    flow.push_back(of.at(ends));
  }
  const FlowDecomposition found = decompose_flow(graph, flow);
  EXPECT_EQ(found.cycles, 2);
  ASSERT_EQ(found.paths.size(), 1U);
  EXPECT_EQ(found.paths[0].amount, 1);
  EXPECT_EQ(nodes_along(graph, found.paths[0]), (std::vector<NodeId>{0, 1, 4}));
  expect_explains(graph, flow, 0, 1e-12);
  expect_explains(graph, flow, 4, 1e-12);
  expect_explains(graph, flow, 6, 1e-12);
}

TEST(FlowPaths, ASelfLoopIsACycle) {
  const Graph graph = graph_of(2, {{0, 0}, {0, 1}}, false, true);
  for (const double loop : {7.0, -7.0}) {
    const FlowDecomposition found = decompose_flow(graph, std::vector<double>{loop, 1});
    EXPECT_EQ(found.cycles, 1);
    ASSERT_EQ(found.paths.size(), 1U);
    EXPECT_EQ(found.paths[0].edges, (std::vector<EdgeId>{1}));
  }
}

TEST(FlowPaths, AmountsBelowTheToleranceAreNothing) {
  const Graph graph = graph_of(3, {{0, 1}, {1, 2}});
  const std::vector<double> flow{-1, -1e-8};
  ASSERT_EQ(decompose_flow(graph, flow, 1e-6).paths.size(), 1U);
  EXPECT_EQ(decompose_flow(graph, flow, 1e-6).paths[0].sink, 1);
  EXPECT_EQ(decompose_flow(graph, flow, 0).paths.size(), 2U);
  EXPECT_TRUE(decompose_flow(graph, flow, 2).paths.empty());
}

TEST(FlowPaths, RandomFlows) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(-1, 1);
  for (int trial = 0; trial < 300; ++trial) {
    const bool directed = trial % 2 == 1;
    const auto nodes = static_cast<NodeId>(2 + random() % 15);
    Edges edges;
    for (size_t i = 0, count = random() % 40; i < count; ++i) {
      const auto a = static_cast<NodeId>(random() % nodes), b = static_cast<NodeId>(random() % nodes);
      if (a != b) edges.emplace_back(a, b);
    }
    const Graph graph = graph_of(nodes, edges, directed);
    std::vector<double> flow(graph.num_edges());
    const bool whole =
        trial % 3 == 0;  // numbers that meet exactly, where edges, sources and sinks end together
    for (double& f : flow) {
      f = random() % 4 == 0 ? 0.0 : value(random);
      if (whole) f = std::round(3 * f);
      if (directed) f = std::fabs(f);
    }
    expect_decomposes(graph, flow, 1e-9);
    for (NodeId v = 0; v < nodes; ++v) expect_explains(graph, flow, v, 1e-9);
  }
}

TEST(FlowPaths, OptimalFlowsHaveNoCycles) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> value(0, 1);
  Edges edges;
  for (NodeId v = 1; v < 60; ++v) {
    edges.emplace_back(static_cast<NodeId>(random() % v), v);
    edges.emplace_back((v + 7) % 60, v);
  }
  const Graph graph = Graph::build(test::edge_list(60, edges), {});
  std::vector<NodeId> labelled;
  std::vector<double> mu, gamma;
  for (NodeId v = 0; v < 60; v += 2) {
    labelled.push_back(v);
    mu.push_back(value(random));
    gamma.push_back(value(random));
  }
  const TransportColumn solved = TransportPlan(graph, labelled).solve(mu, gamma, 1).front();
  const FlowDecomposition found = decompose_flow(graph, solved.flow, 1e-12);
  EXPECT_EQ(found.cycles, 0);
  double cost = 0;
  for (const FlowPath& path : found.paths) cost += path.amount * static_cast<double>(path.edges.size());
  EXPECT_NEAR(cost, solved.distance, 1e-9);
}

TEST(FlowPaths, LongChainsAndManyPathsTakeLinearTime) {
  constexpr NodeId kLength = 200000;
  Edges edges;
  for (NodeId v = 1; v < kLength; ++v) edges.emplace_back(v - 1, v);
  const Graph chain = graph_of(kLength, edges, true);
  const FlowDecomposition along = decompose_flow(chain, std::vector<double>(kLength - 1, 1.0));
  ASSERT_EQ(along.paths.size(), 1U);
  EXPECT_EQ(along.paths[0].edges.size(), kLength - 1U);

  edges.clear();
  for (NodeId v = 1; v < kLength; ++v) edges.emplace_back(0, v);
  const Graph star = graph_of(kLength, edges);
  const std::vector<double> flow(kLength - 1, 1.0);
  EXPECT_EQ(paths_of_node(star, flow, 0).paths.size(), kLength - 1U);
  EXPECT_EQ(decompose_flow(star, flow).paths.size(), kLength - 1U);
}

TEST(FlowPaths, BadRequestsAreRefused) {
  const Graph graph = graph_of(3, {{0, 1}, {1, 2}});
  const Graph directed = graph_of(3, {{0, 1}, {1, 2}}, true);
  const std::vector<double> flow{1, 1};
  EXPECT_EQ(test::error_of([&] { decompose_flow(graph, std::vector<double>{1}); }),
            "flow: has 1 values; the graph has 2 edges");
  EXPECT_EQ(test::error_of([&] { decompose_flow(graph, flow, -1); }),
            "flow: the tolerance must be at least 0, is -1");
  EXPECT_EQ(test::error_of([&] {
              decompose_flow(graph, std::vector<double>{1, NAN});
            }),
            "flow: edge 1 from 2 to 1 carries nan, which is not finite");
  EXPECT_EQ(test::error_of([&] {
              decompose_flow(directed, std::vector<double>{1, -2});
            }),
            "flow: edge 1 from 1 to 2 carries -2, against the direction of the graph");
  EXPECT_EQ(test::error_of([&] { paths_of_node(graph, flow, 3); }),
            "flow: node 3 is outside the graph of 3 nodes");
}

}  // namespace
}  // namespace qw
