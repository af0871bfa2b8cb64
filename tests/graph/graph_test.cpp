#include "qw/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "qw/core/random.h"
#include "support/support.h"

namespace qw {
namespace {

using test::edge_list;
using test::error_of;

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

Pairs edges_of(const Graph& graph) {
  Pairs pairs;
  for (int64_t e = 0; e < graph.num_edges(); ++e) pairs.emplace_back(graph.heads()[e], graph.tails()[e]);
  return pairs;
}

EdgeList random_edges(int64_t nodes, int64_t count, uint64_t seed) {
  const RandomStream random(seed, 0);
  EdgeList list;
  list.num_nodes = nodes;
  for (int64_t e = 0; e < count; ++e) {
    list.heads.push_back(static_cast<NodeId>(random.below(2 * e, nodes)));
    list.tails.push_back(static_cast<NodeId>(random.below(2 * e + 1, nodes)));
  }
  return list;
}

// The definition, by a set.
Pairs reference(const EdgeList& list, bool directed) {
  std::set<std::pair<NodeId, NodeId>> distinct;
  for (size_t e = 0; e < list.heads.size(); ++e) {
    NodeId head = list.heads[e], tail = list.tails[e];
    if (head == tail) continue;
    if (!directed && head > tail) std::swap(head, tail);
    distinct.emplace(head, tail);
  }
  return {distinct.begin(), distinct.end()};
}

void expect_adjacency(const Graph& graph) {
  std::map<std::pair<NodeId, NodeId>, EdgeId> out, in;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const NodeId head = graph.heads()[e], tail = graph.tails()[e];
    out[{tail, head}] = e;
    in[{head, tail}] = e;
    if (!graph.directed()) out[{head, tail}] = e;
  }
  if (!graph.directed()) in = out;
  for (const auto& [side, expected] : {std::pair{graph.out(), out}, std::pair{graph.in(), in}}) {
    std::map<std::pair<NodeId, NodeId>, EdgeId> found;
    for (NodeId node = 0; node < graph.num_nodes(); ++node) {
      const auto neighbours = side.neighbours_of(node);
      EXPECT_TRUE(std::is_sorted(neighbours.begin(), neighbours.end()));
      for (size_t k = 0; k < neighbours.size(); ++k) found[{node, neighbours[k]}] = side.edges_of(node)[k];
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(Graph, UndirectedEdgesStandOnceHeadBelowTail) {
  BuildReport report;
  const Graph graph = Graph::build(edge_list(4, {{2, 1}, {1, 2}, {0, 3}, {1, 1}, {1, 2}}), {}, &report);
  EXPECT_EQ(edges_of(graph), (Pairs{{0, 3}, {1, 2}}));
  EXPECT_EQ(report.given_edges, 5);
  EXPECT_EQ(report.self_loops, 1);
  EXPECT_EQ(report.duplicates, 2);
  expect_adjacency(graph);
}

TEST(Graph, DirectedEdgesStandAsGiven) {
  GraphOptions options;
  options.directed = true;
  const Graph graph = Graph::build(edge_list(4, {{2, 1}, {1, 2}, {0, 3}, {1, 2}}), options);
  EXPECT_EQ(edges_of(graph), (Pairs{{1, 2}, {2, 1}, {3, 0}}));  // (head, tail)
  expect_adjacency(graph);
}

TEST(Graph, AnArcRunsFromItsTailToItsHead) {
  GraphOptions options;
  options.directed = true;
  const Graph graph = Graph::build(edge_list(2, {{0, 1}}), options);
  EXPECT_EQ(graph.tails()[0], 0);
  EXPECT_EQ(graph.heads()[0], 1);
  EXPECT_EQ(graph.out().degree(0), 1U);
  EXPECT_EQ(graph.in().degree(1), 1U);
  EXPECT_EQ(graph.out().degree(1), 0U);
  EXPECT_EQ(graph.in().degree(0), 0U);
}

TEST(Graph, MatchesTheDefinitionForAnyNumberOfThreads) {
  for (const bool directed : {false, true}) {
    for (const auto& [nodes, count] : {std::pair{1, 5}, std::pair{50, 400}, std::pair{3000, 70000}}) {
      const EdgeList list = random_edges(nodes, count, 5);
      const Pairs expected = reference(list, directed);
      GraphOptions options;
      options.directed = directed;
      for (const int threads : {1, 2, 5}) {
        const test::ScopedThreads scope(threads);
        const Graph graph = Graph::build(list, options);
        ASSERT_EQ(edges_of(graph), expected);
        expect_adjacency(graph);
      }
    }
  }
}

TEST(Graph, EmptyAndIsolated) {
  const Graph nothing;
  EXPECT_EQ(nothing.num_nodes(), 0);
  EXPECT_EQ(nothing.num_edges(), 0);
  const Graph isolated = Graph::build(edge_list(3, {}));
  EXPECT_EQ(isolated.num_nodes(), 3);
  EXPECT_TRUE(isolated.out().neighbours_of(2).empty());
}

TEST(Graph, KeepsWhatIsAsked) {
  GraphOptions options;
  options.duplicates = EdgePolicy::kKeep;
  options.self_loops = EdgePolicy::kKeep;
  BuildReport report;
  const Graph graph = Graph::build(edge_list(3, {{1, 0}, {0, 1}, {2, 2}}), options, &report);
  EXPECT_EQ(edges_of(graph), (Pairs{{0, 1}, {0, 1}, {2, 2}}));
  EXPECT_EQ(report.duplicates, 1);
  EXPECT_EQ(report.self_loops, 1);
  EXPECT_EQ(graph.out().degree(2), 1u) << "a self-loop stands once";
  EXPECT_EQ(graph.out().degree(0), 2u);
}

TEST(Graph, DuplicatesKeepTheLowestCostAndTheFirstWeight) {
  EdgeList list = edge_list(3, {{1, 2}, {0, 1}, {2, 1}, {1, 0}});
  list.costs = {5, 1, 3, 2};
  list.weights = {50, 10, 30, 20};
  GraphOptions options;
  options.map_given_edges = true;
  BuildReport report;
  const Graph graph = Graph::build(std::move(list), options, &report);
  EXPECT_EQ(edges_of(graph), (Pairs{{0, 1}, {1, 2}}));
  EXPECT_EQ(std::vector<double>(graph.costs().begin(), graph.costs().end()), (std::vector<double>{1, 3}));
  EXPECT_EQ(std::vector<double>(graph.weights().begin(), graph.weights().end()),
            (std::vector<double>{10, 50}));
  EXPECT_EQ(report.edge_of_given, (std::vector<EdgeId>{1, 0, 1, 0}));
}

TEST(Graph, MapMarksDroppedSelfLoops) {
  GraphOptions options;
  options.map_given_edges = true;
  BuildReport report;
  Graph::build(edge_list(3, {{1, 1}, {2, 0}}), options, &report);
  EXPECT_EQ(report.edge_of_given, (std::vector<EdgeId>{-1, 0}));
}

TEST(Graph, CopiesShareTheirStorage) {
  const Graph graph = Graph::build(edge_list(2, {{0, 1}}));
  const Graph copy = graph;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.heads().data(), graph.heads().data());
}

TEST(Graph, Errors) {
  const auto error = [](EdgeList list, const GraphOptions& options = {}) {
    return error_of([&] { Graph::build(std::move(list), options); });
  };
  EXPECT_EQ(error(edge_list(2, {{0, 1}, {0, 2}})), "edge 1 joins nodes 0 and 2, but nodes are 0 to 1");
  EXPECT_EQ(error(edge_list(2, {{-1, 1}})), "edge 0 joins nodes -1 and 1, but nodes are 0 to 1");
  EXPECT_EQ(error(edge_list(-1, {})), "a graph has 0 to 2147483646 nodes, not -1");
  EXPECT_EQ(error(edge_list(int64_t{1} << 40, {})), "a graph has 0 to 2147483646 nodes, not 1099511627776");

  EdgeList uneven = edge_list(2, {{0, 1}});
  uneven.tails.clear();
  EXPECT_EQ(error(uneven), "an edge list has one head, tail, cost and weight per edge, not 1, 0, 0 and 0");
  for (const double cost : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EdgeList costly = edge_list(2, {{0, 1}});
    costly.costs = {cost};
    EXPECT_NE(error(costly).find("; a cost is finite and not negative"), std::string::npos);
  }
  EdgeList heavy = edge_list(2, {{0, 1}});
  heavy.weights = {std::numeric_limits<double>::infinity()};
  EXPECT_EQ(error(heavy), "edge 0 weighs inf; a weight is finite");

  GraphOptions strict;
  strict.self_loops = EdgePolicy::kError;
  strict.duplicates = EdgePolicy::kError;
  EXPECT_EQ(error(edge_list(2, {{0, 1}, {1, 1}}), strict), "edge 1 joins node 1 to itself");
  EXPECT_EQ(error(edge_list(2, {{0, 1}, {1, 0}}), strict),
            "the edge between nodes 0 and 1 is given more than once");
}

}  // namespace
}  // namespace qw
