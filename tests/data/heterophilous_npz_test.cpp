#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "data/formats/npy.h"
#include "data/readers/reader.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;
using testing::ElementsAre;

using Arrays = std::map<std::string, std::string>;

std::string ints(const std::vector<int64_t>& values, const std::vector<int64_t>& shape) {
  return write_npy(values, shape);
}
std::string bools(const std::vector<bool>& values, const std::vector<int64_t>& shape) {
  return write_npy(values, shape);
}

// A path of four nodes with one edge in both directions, two masks.
Arrays example() {
  return {{"node_features", write_npy(std::vector<float>{1, 0, 0, 2, 3, 0, 0, 0}, {4, 2})},
          {"node_labels", ints({0, 1, 2, 0}, {4})},
          {"edges", ints({1, 0, 1, 2, 2, 1, 2, 3}, {4, 2})},
          {"train_masks", bools({true, false, false, false, false, true, true, false}, {2, 4})},
          {"val_masks", bools({false, true, false, false, true, false, false, false}, {2, 4})},
          {"test_masks", bools({false, false, true, true, false, false, false, true}, {2, 4})}};
}

MemoryFiles as_files(const Arrays& arrays) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [name, array] : arrays) entries.emplace_back(name + ".npy", array);
  return MemoryFiles(Arrays{{"g.npz", write_zip(entries)}});
}

Dataset load(const Arrays& arrays, bool directed = false) {
  LoadOptions options;
  options.directed = directed;
  Dataset dataset = kHeterophilousNpzReader.read(as_files(arrays), "", options);
  check_consistent(dataset);
  return dataset;
}

std::string refusal(const std::string& name, const std::string& array) {
  Arrays arrays = example();
  arrays[name] = array;
  return error_of([&] { load(arrays); });
}

TEST(HeterophilousNpz, ReadsAGraph) {
  const Dataset dataset = load(example());
  EXPECT_EQ(dataset.name, "g");
  EXPECT_EQ(dataset.format, "heterophilous-npz");
  EXPECT_EQ(dataset.graph.num_nodes(), 4);
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 1, 2));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 2, 3));
  EXPECT_THAT(dataset.features.dense, ElementsAre(1, 0, 0, 2, 3, 0, 0, 0));
  EXPECT_THAT(dataset.targets.classes, ElementsAre(0, 1, 2, 0));
  EXPECT_TRUE(dataset.notes.empty());
  ASSERT_EQ(dataset.splits.size(), 2u);
  EXPECT_THAT(dataset.splits[0].train, ElementsAre(0));
  EXPECT_THAT(dataset.splits[0].test, ElementsAre(2, 3));
  EXPECT_THAT(dataset.splits[1].train, ElementsAre(1, 2));
  EXPECT_THAT(dataset.splits[1].val, ElementsAre(0));
}

TEST(HeterophilousNpz, KeepsDirectionsWhenAsked) {
  Arrays arrays = example();
  arrays["edges"] = ints({1, 0, 1, 2, 2, 1, 1, 2, 3, 3}, {5, 2});
  const Dataset dataset = load(arrays, true);
  EXPECT_THAT(dataset.graph.heads(), ElementsAre(0, 1, 2));
  EXPECT_THAT(dataset.graph.tails(), ElementsAre(1, 2, 1));
  EXPECT_THAT(dataset.notes, ElementsAre("1 self-loops were dropped; --self-loops keep keeps them",
                                         "1 repeated edges were dropped; --duplicate-edges keep keeps them"));
}

TEST(HeterophilousNpz, OneMaskOrNone) {
  Arrays arrays = example();
  arrays["train_masks"] = bools({true, false, false, false}, {4});
  arrays["val_masks"] = bools({false, true, false, false}, {4});
  arrays["test_masks"] = bools({false, false, true, false}, {1, 4});
  ASSERT_EQ(load(arrays).splits.size(), 1u);
  EXPECT_THAT(load(arrays).splits[0].test, ElementsAre(2));
  for (const char* name : {"train_masks", "val_masks", "test_masks"}) arrays.erase(name);
  EXPECT_TRUE(load(arrays).splits.empty());
}

TEST(HeterophilousNpz, FeaturesOrLabelsMayBeAbsent) {
  Arrays arrays = example();
  arrays.erase("node_features");
  EXPECT_EQ(load(arrays).graph.num_nodes(), 4);
  arrays.erase("node_labels");
  EXPECT_EQ(error_of([&] { load(arrays); }),
            "g.npz: has neither 'node_features' nor 'node_labels', so the number of nodes is unknown");
}

TEST(HeterophilousNpz, NoNodesWithManyMasks) {
  const int64_t many = int64_t{1} << 40;
  Arrays arrays = {{"node_labels", ints({}, {0})}, {"edges", ints({}, {0, 2})}};
  for (const char* name : {"train_masks", "val_masks", "test_masks"}) arrays[name] = bools({}, {many, 0});
  EXPECT_TRUE(load(arrays).splits.empty());
}

TEST(HeterophilousNpz, SaysWhatIsWrong) {
  Arrays no_edges = example();
  no_edges.erase("edges");
  EXPECT_EQ(error_of([&] { load(no_edges); }), "g.npz: has no array 'edges'");
  Arrays no_validation = example();
  no_validation.erase("val_masks");
  EXPECT_EQ(error_of([&] { load(no_validation); }), "g.npz: has no array 'val_masks'");
  EXPECT_EQ(refusal("edges", ints({0, 1, 2}, {3, 1})),
            "g.npz: edges: expected two nodes per edge, found an array of shape [3, 1]");
  EXPECT_EQ(refusal("edges", ints({0, 9}, {1, 2})),
            "g.npz: edge 0 joins nodes 0 and 9, but nodes are 0 to 3");
  EXPECT_EQ(refusal("edges", ints({0, int64_t{1} << 32}, {1, 2})),
            "g.npz: edges: item 1 is 4294967296; expected a 32-bit integer");
  EXPECT_EQ(refusal("node_features", write_npy(std::vector<float>{1, NAN, 1, 1}, {4, 1})),
            "g.npz: node_features: item 1 is nan; expected a finite number");
  EXPECT_EQ(refusal("node_features", write_npy(std::vector<float>{}, {100000, 0})),
            "g.npz: node_features: claims 100,000 nodes in 0 B, which cannot be");
  EXPECT_EQ(refusal("node_labels", ints({0}, {1})), "g: the graph has 4 nodes but there are 1 targets");
  EXPECT_EQ(refusal("train_masks", bools({true}, {1})),
            "g.npz: train_masks: expected masks of 4 nodes, found an array of shape [1]");
  EXPECT_EQ(refusal("val_masks", bools({false, true, false, false}, {4})),
            "g.npz: val_masks: 1 masks, but train_masks has 2");
  EXPECT_EQ(refusal("val_masks", ints({0, 2, 0, 0, 1, 0, 0, 0}, {2, 4})),
            "g.npz: val_masks: item 1 is 2; expected 0 or 1");
}

TEST(HeterophilousNpz, RecognisesItsArrays) {
  EXPECT_TRUE(kHeterophilousNpzReader.recognises(as_files(example()), "g.npz"));
  EXPECT_TRUE(kHeterophilousNpzReader.recognises(as_files(example()), ""));
  EXPECT_FALSE(kCsrNpzReader.recognises(as_files(example()), ""));
  EXPECT_FALSE(kHeterophilousNpzReader.recognises(MemoryFiles(Arrays{{"g.npz", "hello"}}), "g.npz"));
  EXPECT_FALSE(kHeterophilousNpzReader.recognises(as_files({{"edges", ints({}, {0, 2})}}), ""));
}

struct Published {
  const char* folder;
  const char* file;
  int64_t nodes, edges, features, classes;
};

class HeterophilousNpzPublished : public testing::TestWithParam<Published> {};

TEST_P(HeterophilousNpzPublished, HasTheKnownCounts) {
  const auto folder = test::shared_datasets() / GetParam().folder;
  QW_SKIP_WITHOUT(folder);
  const Dataset dataset = kHeterophilousNpzReader.read(FolderFiles(folder), GetParam().file, {});
  check_consistent(dataset);
  EXPECT_EQ(dataset.graph.num_nodes(), GetParam().nodes);
  EXPECT_EQ(dataset.graph.num_edges(), GetParam().edges);
  EXPECT_EQ(dataset.features.columns, GetParam().features);
  EXPECT_EQ(dataset.targets.width, GetParam().classes);
  EXPECT_EQ(dataset.splits.size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Files, HeterophilousNpzPublished,
                         testing::Values(Published{"chameleon", "chameleon.npz", 2277, 31371, 2325, 5},
                                         Published{"squirrel", "squirrel.npz", 5201, 198353, 2089, 5},
                                         Published{"actor", "actor.npz", 7600, 26659, 932, 5},
                                         Published{"texas", "texas.npz", 183, 279, 1703, 5},
                                         Published{"cornell", "cornell.npz", 183, 277, 1703, 5}),
                         [](const auto& tested) { return tested.param.folder; });

}  // namespace
}  // namespace qw
