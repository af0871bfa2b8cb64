#include "report/node_groups.h"

#include <cmath>
#include <numeric>

#include "support/support.h"

namespace qw {
namespace {

using test::edge_list;

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> nodes(graph.num_nodes());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

std::string name_of(const NodeGroups& groups, size_t i) {
  return groups.of_node[i] < 0 ? "" : groups.names.at(groups.of_node[i]);
}

TEST(NodeGroups, DegreesDouble) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId leaf = 1; leaf <= 9; ++leaf) edges.emplace_back(0, leaf);
  edges.insert(edges.end(), {{1, 2}, {1, 3}});
  const Graph graph = Graph::build(edge_list(11, edges));
  const NodeGroups groups = group_by_degree(graph, all_nodes(graph));
  EXPECT_EQ(name_of(groups, 0), "8 to 15");
  EXPECT_EQ(name_of(groups, 1), "2 to 3");
  EXPECT_EQ(name_of(groups, 9), "1");
  EXPECT_EQ(name_of(groups, 10), "0");
  const Graph arcs = Graph::build(edge_list(3, {{0, 1}, {1, 2}}), {.directed = true});
  EXPECT_EQ(name_of(group_by_degree(arcs, all_nodes(arcs)), 1), "2 to 3") << "arcs of both directions count";
}

TEST(NodeGroups, HomophilyIsTheShareOfLabelledNeighboursOfItsClass) {
  // Node 0 has four neighbours; node 5 knows no label around it.
  const Graph graph = Graph::build(edge_list(7, {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {5, 6}}));
  const auto group_of_first = [&](std::vector<int32_t> classes) {
    Targets targets{
        .task = Task::kClassification, .width = 2, .classes = std::move(classes), .values = {}, .names = {}};
    return name_of(group_by_homophily(graph, targets, std::vector<NodeId>{0, 5}), 0);
  };
  EXPECT_EQ(group_of_first({0, 1, 1, 1, 1, 0, -1}), "none");
  EXPECT_EQ(group_of_first({0, 0, 1, 1, 1, 0, -1}), "25 to 50 %");
  EXPECT_EQ(group_of_first({0, 0, 1, -1, 1, 0, -1}), "25 to 50 %") << "a third of those with a label";
  EXPECT_EQ(group_of_first({0, 0, 0, 0, 1, 0, -1}), "75 to 100 %");
  EXPECT_EQ(group_of_first({0, 0, 0, 0, 0, 0, -1}), "all");
  Targets targets{.task = Task::kClassification,
                  .width = 2,
                  .classes = {0, 0, 0, 0, 0, 0, -1},
                  .values = {},
                  .names = {}};
  EXPECT_EQ(name_of(group_by_homophily(graph, targets, std::vector<NodeId>{0, 5}), 1), "");
}

TEST(NodeGroups, DistancesAreCountedFromTheNearestSource) {
  std::vector<std::pair<NodeId, NodeId>> path;
  for (NodeId node = 0; node < 9; ++node) path.emplace_back(node, node + 1);
  for (const bool directed : {false, true}) {
    const Graph graph = Graph::build(edge_list(12, path), {.directed = directed});
    EXPECT_EQ(distances_from(graph, std::vector<NodeId>{0, 9, 9}),
              (std::vector<int>{0, 1, 2, 3, 4, 4, 3, 2, 1, 0, -1, -1}));
    const NodeGroups groups = group_by_distance(graph, std::vector<NodeId>{0}, all_nodes(graph));
    EXPECT_EQ(name_of(groups, 5), "5");
    EXPECT_EQ(name_of(groups, 6), "6 or more");
    EXPECT_EQ(name_of(groups, 9), "6 or more");
    EXPECT_EQ(name_of(groups, 11), "unreachable");
  }
  const Graph graph = Graph::build(edge_list(2, {{0, 1}}));
  EXPECT_EQ(distances_from(graph, {}), (std::vector<int>{-1, -1}));
}

TEST(GroupMeans, SharesHaveWilsonsInterval) {
  const NodeGroups groups{"x", "y", {"a", "b", "c"}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, -1}};
  const std::vector<GroupMean> means =
      group_means(groups, std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0}, true);
  EXPECT_EQ(means[0].nodes, 10);
  EXPECT_NEAR(means[0].mean, 0.8, 1e-15);
  EXPECT_NEAR(means[0].low, 0.4901625, 1e-6) << "Wilson, 1927, for 8 of 10";
  EXPECT_NEAR(means[0].high, 0.9433178, 1e-6);
  EXPECT_EQ(means[1].mean, 1);
  EXPECT_EQ(means[1].high, 1);
  EXPECT_NEAR(means[1].low, 2 / (2 + 3.841458820694124), 1e-12) << "n / (n + z^2) where all are right";
  EXPECT_EQ(means[2].nodes, 0);
  EXPECT_TRUE(std::isnan(means[2].mean));
}

TEST(GroupMeans, OtherValuesHaveStudentsInterval) {
  const NodeGroups groups{"x", "y", {"a", "b"}, {0, 0, 0, 0, 1}};
  const std::vector<GroupMean> means =
      group_means(groups, std::vector<double>{1, 2, 3, std::nan(""), 7}, false);
  EXPECT_EQ(means[0].nodes, 3);
  EXPECT_NEAR(means[0].mean, 2, 1e-15);
  EXPECT_NEAR(means[0].high - 2, 4.302652729749464 / std::sqrt(3.0), 1e-9) << "t of 2 degrees, s = 1";
  EXPECT_NEAR(means[0].low + means[0].high, 4, 1e-12);
  EXPECT_EQ(means[1].mean, 7);
  EXPECT_TRUE(std::isnan(means[1].low)) << "one value has no interval";
}

}  // namespace
}  // namespace qw
