#include "qw/graph/statistics.h"

#include "support/support.h"

namespace qw {
namespace {

using test::edge_list;

TEST(Statistics, Components) {
  const Components components = connected_components(Graph::build(edge_list(6, {{4, 1}, {1, 2}, {5, 3}})));
  EXPECT_EQ(components.count, 3);
  EXPECT_EQ(components.of_node, (std::vector<NodeId>{0, 1, 1, 2, 1, 2}));
  EXPECT_EQ(connected_components(Graph()).count, 0);
}

TEST(Statistics, Degrees) {
  const DegreeStatistics degrees = degree_statistics(Graph::build(edge_list(4, {{0, 1}, {0, 2}})));
  EXPECT_EQ(degrees.isolated, 1);
  EXPECT_EQ(degrees.smallest, 0);
  EXPECT_EQ(degrees.largest, 2);
  EXPECT_EQ(degrees.mean, 1.0);
  EXPECT_EQ(degrees.median, 1.0);
  GraphOptions directed;
  directed.directed = true;
  EXPECT_EQ(degree_statistics(Graph::build(edge_list(2, {{0, 1}, {1, 0}}), directed)).largest, 2);
}

TEST(Statistics, IntraEdgeRateCountsKnownEndsOnly) {
  const Graph graph = Graph::build(edge_list(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  EXPECT_EQ(intra_edge_rate(graph, class_targets({0, 0, 1, 1, -1})), 2.0 / 3.0);
  EXPECT_EQ(intra_edge_rate(graph, value_targets({0, 0, 1, 1, 1})), std::nullopt);
  EXPECT_EQ(intra_edge_rate(Graph::build(edge_list(2, {})), class_targets({0, 0})), std::nullopt);
}

TEST(Statistics, DuplicateNodesShareNeighboursAndLabel) {
  // 1, 2 and 3 hang on 0; 4 is alone.
  const Graph star = Graph::build(edge_list(5, {{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(duplicate_nodes(star, class_targets({0, 1, 1, 1, 1})), 3);
  EXPECT_EQ(duplicate_nodes(star, class_targets({0, 1, 2, 1, 1})), 2);
  EXPECT_EQ(duplicate_nodes(star, class_targets({0, 1, 2, 3, 1})), 0);
  EXPECT_EQ(duplicate_nodes(star, class_targets({0, 1, -1, -1, 1})), 0) << "unlabelled nodes do not leak";
  EXPECT_EQ(duplicate_nodes(star, value_targets({0, 1.5, 1.5, 2, 1})), 2);
  EXPECT_EQ(duplicate_nodes(star, {}), 3);
}

TEST(Statistics, DuplicatesOfADirectedGraphShareBothSides) {
  GraphOptions options;
  options.directed = true;
  const Graph graph = Graph::build(edge_list(4, {{0, 1}, {0, 2}, {1, 3}}), options);
  EXPECT_EQ(duplicate_nodes(graph, class_targets({0, 1, 1, 1})), 0);
}

TEST(Statistics, ClassCounts) {
  EXPECT_EQ(class_counts(class_targets({2, 0, 2, -1})), (std::vector<int64_t>{1, 0, 2}));
  EXPECT_TRUE(class_counts(value_targets({1})).empty());
}

}  // namespace
}  // namespace qw
