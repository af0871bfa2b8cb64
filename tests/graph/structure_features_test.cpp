#include "qw/graph/structure_features.h"

#include <cmath>

#include "qw/graph/generators.h"
#include "support/support.h"

namespace qw {
namespace {

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

Graph undirected(int64_t nodes, const Pairs& edges) { return Graph::build(test::edge_list(nodes, edges)); }

Graph directed(int64_t nodes, const Pairs& edges) {
  GraphOptions options;
  options.directed = true;
  return Graph::build(test::edge_list(nodes, edges), options);
}

Graph complete(int64_t nodes) {
  Pairs edges;
  for (NodeId a = 0; a < nodes; ++a) {
    for (NodeId b = a + 1; b < nodes; ++b) edges.emplace_back(a, b);
  }
  return undirected(nodes, edges);
}

Graph cycle(int64_t nodes) {
  Pairs edges;
  for (NodeId a = 0; a < nodes; ++a) edges.emplace_back(a, static_cast<NodeId>((a + 1) % nodes));
  return undirected(nodes, edges);
}

// The value of a column by its name.
float value(const Features& features, const std::string& name, int64_t node) {
  const auto found = std::find(features.names.begin(), features.names.end(), name);
  if (found == features.names.end()) ADD_FAILURE() << name;
  EXPECT_FALSE(features.sparse);
  return features.dense[node * features.columns + (found - features.names.begin())];
}

float log1p_of(double degree) { return static_cast<float>(std::log1p(degree)); }

TEST(StructureFeatures, CompleteGraph) {
  const Features features = structure_features(complete(6));
  EXPECT_EQ(features.names,
            (std::vector<std::string>{"log_degree", "clustering", "core_number", "neighbour_log_degree"}));
  for (int64_t node = 0; node < 6; ++node) {
    EXPECT_EQ(value(features, "log_degree", node), log1p_of(5));
    EXPECT_EQ(value(features, "clustering", node), 1.0f);
    EXPECT_EQ(value(features, "core_number", node), 5.0f);
    EXPECT_FLOAT_EQ(value(features, "neighbour_log_degree", node), log1p_of(5));
  }
}

TEST(StructureFeatures, Star) {
  const Features features = structure_features(undirected(5, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}));
  EXPECT_EQ(value(features, "log_degree", 0), log1p_of(4));
  for (int64_t node = 0; node < 5; ++node) {
    EXPECT_EQ(value(features, "clustering", node), 0.0f);
    EXPECT_EQ(value(features, "core_number", node), 1.0f);
    EXPECT_EQ(value(features, "neighbour_log_degree", node), log1p_of(node == 0 ? 1 : 4));
  }
}

TEST(StructureFeatures, PathAndCycle) {
  const Features path = structure_features(undirected(4, {{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(value(path, "core_number", 1), 1.0f);
  EXPECT_FLOAT_EQ(value(path, "neighbour_log_degree", 1), (log1p_of(1) + log1p_of(2)) / 2);
  const Features ring = structure_features(cycle(7));
  for (int64_t node = 0; node < 7; ++node) {
    EXPECT_EQ(value(ring, "core_number", node), 2.0f);
    EXPECT_EQ(value(ring, "clustering", node), 0.0f);
  }
  EXPECT_EQ(clustering_coefficients(cycle(3)), (std::vector<double>{1, 1, 1}));
}

// core_number and triangles of networkx 3.6 on its karate_club_graph().
TEST(StructureFeatures, KarateClubAsNetworkxHasIt) {
  const Graph karate = generate("karate").graph;
  const std::vector<int64_t> cores = {4, 4, 4, 4, 3, 3, 3, 4, 4, 2, 3, 1, 2, 4, 2, 2, 2,
                                      2, 2, 3, 2, 2, 2, 3, 3, 3, 2, 3, 3, 3, 4, 3, 4, 4};
  const std::vector<int64_t> triangles = {18, 12, 11, 10, 2, 3, 3, 6, 5, 0, 2, 0, 1, 6, 1, 1,  1,
                                          1,  1,  1,  1,  1, 1, 4, 1, 1, 1, 1, 1, 4, 3, 3, 13, 15};
  EXPECT_EQ(core_numbers(karate), cores);
  const std::vector<double> clustering = clustering_coefficients(karate);
  for (NodeId node = 0; node < 34; ++node) {
    const auto degree = static_cast<double>(karate.out().degree(node));
    const double pairs = degree * (degree - 1) / 2;
    EXPECT_DOUBLE_EQ(clustering[node], pairs == 0 ? 0.0 : static_cast<double>(triangles[node]) / pairs);
  }
}

// Every definition word by word, on a random graph: neighbours' pairs, and subgraphs peeled degree by degree.
TEST(StructureFeatures, AgreesWithTheDefinitions) {
  const Graph graph = generate("csbm:nodes=150,degree=9,features=2,classes=3,seed=4").graph;
  const auto joined = [&](NodeId a, NodeId b) {
    const auto near = graph.out().neighbours_of(a);
    return std::find(near.begin(), near.end(), b) != near.end();
  };
  const std::vector<double> clustering = clustering_coefficients(graph);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const auto near = graph.out().neighbours_of(node);
    int64_t links = 0, pairs = 0;
    for (size_t i = 0; i < near.size(); ++i) {
      for (size_t j = i + 1; j < near.size(); ++j) links += joined(near[i], near[j]), ++pairs;
    }
    EXPECT_DOUBLE_EQ(clustering[node],
                     pairs == 0 ? 0.0 : static_cast<double>(links) / static_cast<double>(pairs));
  }
  const std::vector<int64_t> cores = core_numbers(graph);
  for (int64_t k = 1; k <= 12; ++k) {
    std::vector<bool> in(graph.num_nodes(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId node = 0; node < graph.num_nodes(); ++node) {
        int64_t degree = 0;
        for (const NodeId near : graph.out().neighbours_of(node)) degree += in[near];
        if (in[node] && degree < k) in[node] = false, changed = true;
      }
    }
    for (NodeId node = 0; node < graph.num_nodes(); ++node) EXPECT_EQ(cores[node] >= k, in[node]) << k;
  }
}

TEST(StructureFeatures, DirectedGraphsHaveTwoDegrees) {
  const Features features = structure_features(directed(4, {{0, 1}, {1, 0}, {0, 2}, {2, 1}}));
  EXPECT_EQ(features.names, (std::vector<std::string>{"log_in_degree", "log_out_degree", "clustering",
                                                      "core_number", "neighbour_log_degree"}));
  EXPECT_EQ(value(features, "log_in_degree", 1), log1p_of(2));
  EXPECT_EQ(value(features, "log_out_degree", 1), log1p_of(1));
  EXPECT_EQ(value(features, "log_out_degree", 0), log1p_of(2));
  for (int64_t node = 0; node < 3; ++node) {
    EXPECT_EQ(value(features, "clustering", node), 1.0f) << "0, 1 and 2 are a triangle, whatever the arrows";
    EXPECT_EQ(value(features, "core_number", node), 2.0f);
  }
  for (const std::string& name : features.names) EXPECT_EQ(value(features, name, 3), 0.0f) << "isolated";
}

TEST(StructureFeatures, LoopsAndRepetitionsDoNotCount) {
  GraphOptions keep;
  keep.duplicates = keep.self_loops = EdgePolicy::kKeep;
  const Pairs given = {{0, 1}, {1, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 0}, {2, 2}, {2, 3}};
  const Features kept = structure_features(Graph::build(test::edge_list(4, given), keep));
  EXPECT_EQ(kept.dense, structure_features(undirected(4, given)).dense);
  keep.directed = true;
  const Features arcs = structure_features(Graph::build(test::edge_list(4, given), keep));
  EXPECT_EQ(arcs.dense, structure_features(directed(4, given)).dense);
}

TEST(StructureFeatures, LargeGraphsGoWithoutClustering) {
  StructureOptions options;
  options.most_edges_for_clustering = 5;
  EXPECT_EQ(structure_features(cycle(5), options).columns, 4);
  EXPECT_EQ(structure_features(cycle(6), options).names,
            (std::vector<std::string>{"log_degree", "core_number", "neighbour_log_degree"}));
}

TEST(StructureFeatures, SameBitsForAnyNumberOfThreads) {
  const Graph graph = generate("csbm:nodes=20000,degree=12,features=2,classes=3,seed=1").graph;
  std::vector<float> expected;
  for (const int threads : {1, 2, 4}) {
    const test::ScopedThreads scope(threads);
    const Features features = structure_features(graph);
    if (expected.empty()) expected = features.dense;
    EXPECT_EQ(features.dense, expected) << threads;
  }
}

TEST(StructureFeatures, NoNodesAndNoEdges) {
  EXPECT_EQ(structure_features(Graph()).rows, 0);
  const Features lonely = structure_features(undirected(3, {}));
  EXPECT_EQ(lonely.rows, 3);
  EXPECT_EQ(lonely.nonzeros(), 0);
  EXPECT_EQ(constant_features(3).dense, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(constant_features(3).names, (std::vector<std::string>{"constant"}));
}

TEST(StructureFeatures, WhatIsMadeOfTheGraphShowsIt) {
  Dataset dataset;
  dataset.graph = undirected(3, {{0, 1}, {1, 2}});
  dataset.features = structure_features(dataset.graph);
  EXPECT_FALSE(features_show_graph(dataset));  // of that shape, but a person's own
  dataset.made_features = true;
  EXPECT_TRUE(features_show_graph(dataset));
  dataset.features = constant_features(3);
  EXPECT_FALSE(features_show_graph(dataset));
}

}  // namespace
}  // namespace qw
