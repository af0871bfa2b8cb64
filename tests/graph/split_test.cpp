#include "qw/graph/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/numpy_random.h"
#include "qw/graph/split_spec.h"
#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

// numpy.random.RandomState(42): permutation(10), and choice(100, 5, replace=False) from a fresh state.
TEST(NumpyRandomState, MatchesNumpy) {
  EXPECT_EQ(NumpyRandomState(42).permutation(10), (std::vector<int64_t>{8, 1, 5, 0, 7, 2, 9, 4, 3, 6}));
  std::vector<NodeId> population(100);
  std::iota(population.begin(), population.end(), 0);
  EXPECT_EQ(NumpyRandomState(42).choice(population, 5), (std::vector<NodeId>{83, 53, 70, 45, 44}));
}

Targets classes(int64_t nodes, int64_t count) {
  std::vector<int32_t> labels(nodes);
  for (int64_t node = 0; node < nodes; ++node) labels[node] = static_cast<int32_t>(node % count);
  return class_targets(labels);
}

void expect_partition(const Split& split, const Targets& targets) {
  check_split(split, targets);
  for (const auto* part : {&split.train, &split.val, &split.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
  }
}

TEST(Split, PublishedCounts) {
  const Targets targets = classes(100, 3);
  const Split split = published_split(targets, 1);
  expect_partition(split, targets);
  EXPECT_EQ(split.train.size(), 60u);  // 3 * round(0.6 * 100 / 3)
  EXPECT_EQ(split.val.size(), 20u);
  EXPECT_EQ(split.test.size(), 20u);
}

TEST(Split, HalvesRoundToEven) {
  // 0.5 * 10 / 2 = 2.5 -> 2 per class; 0.25 * 10 = 2.5 -> 2.
  const Split split = published_split(classes(10, 2), 1, 0.5, 0.25);
  EXPECT_EQ(split.train.size(), 4u);
  EXPECT_EQ(split.val.size(), 2u);
}

TEST(Split, SmallClassIsTakenWhole) {
  const Targets targets = class_targets({0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const Split split = published_split(targets, 3);
  EXPECT_EQ(split.train.size(), 4u);  // round(0.6 * 10 / 2) = 3 of class 0, the one of class 1
  EXPECT_TRUE(std::binary_search(split.train.begin(), split.train.end(), 9));
}

TEST(Split, UnlabelledNodesGoNowhere) {
  const Targets targets = class_targets({0, -1, 1, 0, -1, 1, 0, 1, 0, 1});
  for (const Split& split : {published_split(targets, 3, 0.4, 0.2), random_split(targets, 3, 0.5, 0.25)}) {
    expect_partition(split, targets);
    EXPECT_EQ(split.train.size() + split.val.size() + split.test.size(), 8u);
  }
}

TEST(Split, PerClass) {
  const Targets targets = classes(2000, 4);
  const Split split = per_class_split(targets, 5);
  expect_partition(split, targets);
  EXPECT_EQ(split.train.size(), 80u);
  EXPECT_EQ(split.val.size(), 500u);
  EXPECT_EQ(split.test.size(), 1000u);
}

TEST(Split, RandomWorksForValues) {
  const Targets targets = value_targets({1, 2, std::nan(""), 4, 5});
  const Split split = random_split(targets, 5, 0.5, 0.25);
  expect_partition(split, targets);
  EXPECT_EQ(split.train.size(), 2u);
  EXPECT_EQ(split.val.size(), 1u);
  EXPECT_EQ(split.test.size(), 1u);
}

TEST(Split, Errors) {
  const Targets values = value_targets({1, 2});
  EXPECT_EQ(error_of([&] { published_split(values, 1); }),
            "the published split draws from each class, but the target is regression; use a random split");
  EXPECT_EQ(error_of([&] { per_class_split(values, 1); }),
            "the per-class split draws from each class, but the target is regression; use a random split");
  EXPECT_EQ(error_of([&] { random_split(values, 1, 0.9, 0.2); }),
            "a split needs train and validation shares of at least 0 that sum to at most 1, not 0.9 and 0.2");
  EXPECT_EQ(error_of([&] { per_class_split(classes(100, 2), 1); }),
            "the per-class split wants 500 validation and 1000 test nodes, but only 60 labelled nodes are "
            "left after "
            "training took 40");
  const Targets sparse = class_targets({0, 1, -1, -1, -1, -1, -1, -1, -1, -1});
  EXPECT_EQ(error_of([&] { published_split(sparse, 1); }),
            "the published split wants 2 validation nodes, but only 0 labelled nodes are left after training "
            "took 2; "
            "use a random split");
  EXPECT_EQ(error_of([&] {
              check_split({{0}, {0}, {}}, classes(3, 2));
            }),
            "node 0 stands in the train part and in the validation part of the split");
  EXPECT_EQ(error_of([&] {
              check_split({{}, {}, {7}}, classes(3, 2));
            }),
            "the test part of the split has node 7, but nodes are 0 to 2");
  EXPECT_EQ(error_of([&] {
              check_split({{2}, {}, {}}, sparse);
            }),
            "the train part of the split has node 2, which has no label");
}

TEST(Split, NeedsLabels) {
  EXPECT_EQ(error_of([] { random_split({}, 1, 0.5, 0.2); }),
            "a split needs labels, but no node has one; name the column to learn with --target");
}

TEST(SplitSpec, NamesAndOptions) {
  Dataset dataset;
  dataset.name = "toy";
  dataset.targets = classes(100, 2);
  dataset.splits = {{{1}, {2}, {3}}};
  EXPECT_EQ(make_split(dataset, "published", 9).train, published_split(dataset.targets, 9).train);
  EXPECT_EQ(make_split(dataset, "random:train=0.5,val=0.1", 9).val,
            random_split(dataset.targets, 9, 0.5, 0.1).val);
  EXPECT_EQ(make_split(dataset, "per-class:train=5,val=10,test=20", 9).test,
            per_class_split(dataset.targets, 9, 5, 10, 20).test);
  EXPECT_EQ(make_split(dataset, "stored", 9).val, (std::vector<NodeId>{2}));
  EXPECT_EQ(error_of([&] { make_split(dataset, "stored:index=1", 9); }),
            "toy has 1 stored splits, so there is none of index 1");
  EXPECT_EQ(
      error_of([&] { make_split(dataset, "publish", 9); }),
      "split 'publish' is unknown; did you mean 'published'? known: published, per-class, random, stored");
  EXPECT_EQ(error_of([&] { make_split(dataset, "random:trian=0.5", 9); }),
            "random: 'trian' is unknown; did you mean 'train'? known: train, val");
}

}  // namespace
}  // namespace qw
