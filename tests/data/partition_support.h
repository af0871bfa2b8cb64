// Graphs of all kinds, and comparing them, for tests of partitions.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "qw/core/random.h"
#include "qw/data/make_partition.h"
#include "support/support.h"

namespace qw::test {

template <class T>
std::vector<T> copied(std::span<const T> items) {
  return {items.begin(), items.end()};
}

struct RandomKind {
  bool directed = false, costs = false, weights = false, sparse = false, ids = false, values = false;
  EdgePolicy policy = EdgePolicy::kDrop;  // of repeated edges and self-loops
  int64_t nodes = 40, edges = 90;
};

// The lower half of the nodes has most edges, and some have none.
inline Dataset random_dataset(const RandomKind& kind, uint64_t seed) {
  const RandomStream random(seed, 1);
  uint64_t counter = 0;
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random.below(counter++, bound)); };
  Dataset dataset;
  dataset.name = "random";
  dataset.format = "csv";
  dataset.notes = {"one", "two"};
  dataset.columns = {{"id", "id", "", {}, 3}, {"f", "feature", "number", {}, 2, 0.5}};
  EdgeList edges;
  edges.num_nodes = kind.nodes;
  for (int64_t e = 0; e < kind.edges; ++e) {
    edges.tails.push_back(static_cast<NodeId>(below(1 + below(kind.nodes))));
    edges.heads.push_back(static_cast<NodeId>(below(1 + below(kind.nodes))));
    if (kind.costs) edges.costs.push_back(static_cast<double>(below(9)));
    if (kind.weights) edges.weights.push_back(static_cast<double>(below(9)) - 2);
  }
  dataset.graph = Graph::build(std::move(edges), {kind.directed, kind.policy, kind.policy, false});
  std::vector<float> values(kind.nodes * 5);
  for (float& value : values)
    value = below(8) < (kind.sparse ? 1 : 7) ? static_cast<float>(below(100)) - 50 : 0.0f;
  dataset.features = features_from_dense(kind.nodes, 5, std::move(values));
  dataset.features.names = {"a", "b", "c", "d", "e"};
  Split split;
  std::vector<int32_t> classes;
  std::vector<double> targets;
  for (NodeId node = 0; node < kind.nodes; ++node) {
    classes.push_back(static_cast<int32_t>(below(4)) - 1);
    targets.push_back(below(5) == 0 ? std::nan("") : static_cast<double>(below(100)));
    const bool known = kind.values ? !std::isnan(targets.back()) : classes.back() >= 0;
    if (known) (below(2) == 0 ? split.train : below(2) == 0 ? split.val : split.test).push_back(node);
    if (kind.ids) dataset.node_ids.push_back("node \xC3\xA9 " + std::to_string(kind.nodes - node));
  }
  dataset.targets = kind.values ? value_targets(targets) : class_targets(classes, {"x", "y", "z"});
  dataset.splits = {split, Split{split.test, split.train, {}}};
  return dataset;
}

inline void expect_same_targets(const Targets& a, const Targets& b) {
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.names, b.names);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t k = 0; k < a.values.size(); ++k)
    EXPECT_TRUE(a.values[k] == b.values[k] || (std::isnan(a.values[k]) && std::isnan(b.values[k])));
}

inline void expect_same_dataset(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.default_split, b.default_split);
  EXPECT_EQ(a.node_ids, b.node_ids);
  EXPECT_EQ(a.graph.num_nodes(), b.graph.num_nodes());
  EXPECT_EQ(a.graph.directed(), b.graph.directed());
  EXPECT_EQ(copied(a.graph.heads()), copied(b.graph.heads()));
  EXPECT_EQ(copied(a.graph.tails()), copied(b.graph.tails()));
  EXPECT_EQ(copied(a.graph.costs()), copied(b.graph.costs()));
  EXPECT_EQ(copied(a.graph.weights()), copied(b.graph.weights()));
  EXPECT_EQ(a.features.sparse, b.features.sparse);
  EXPECT_EQ(a.features.columns, b.features.columns);
  EXPECT_EQ(a.features.dense, b.features.dense);
  EXPECT_EQ(a.features.offsets, b.features.offsets);
  EXPECT_EQ(a.features.indices, b.features.indices);
  EXPECT_EQ(a.features.values, b.features.values);
  EXPECT_EQ(a.features.names, b.features.names);
  expect_same_targets(a.targets, b.targets);
  ASSERT_EQ(a.splits.size(), b.splits.size());
  for (size_t k = 0; k < a.splits.size(); ++k) {
    EXPECT_EQ(a.splits[k].train, b.splits[k].train);
    EXPECT_EQ(a.splits[k].val, b.splits[k].val);
    EXPECT_EQ(a.splits[k].test, b.splits[k].test);
  }
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (size_t k = 0; k < a.columns.size(); ++k) {
    EXPECT_EQ(a.columns[k].name, b.columns[k].name);
    EXPECT_EQ(a.columns[k].missing, b.columns[k].missing);
    EXPECT_EQ(a.columns[k].fill, b.columns[k].fill);
  }
}

// Name and bytes of every file.
inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    files[each.path().filename().string()] = read_file(each.path());
  return files;
}

}  // namespace qw::test
