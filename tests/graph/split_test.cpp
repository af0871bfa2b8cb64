#include "qw/graph/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
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
  EXPECT_EQ(error_of([&] { make_split(dataset, "publish", 9); }),
            "split 'publish' is unknown; did you mean 'published'? known: stratified, kfold, published, "
            "per-class, random, stored");
  EXPECT_EQ(error_of([&] { make_split(dataset, "random:trian=0.5", 9); }),
            "random: 'trian' is unknown; did you mean 'train'? known: train, val");
}

std::map<int32_t, std::array<int64_t, 3>> by_class(const Targets& targets, const Split& split) {
  std::map<int32_t, std::array<int64_t, 3>> counts;
  for (const NodeId node : split.train) ++counts[targets.classes[node]][0];
  for (const NodeId node : split.val) ++counts[targets.classes[node]][1];
  for (const NodeId node : split.test) ++counts[targets.classes[node]][2];
  return counts;
}

// 1,000 nodes of class 0, 100 of class 1, then classes of 5, 4, 3, 2 and 1; some unlabelled.
Targets uneven_classes() {
  std::vector<int32_t> classes;
  const std::vector<int64_t> sizes{1000, 100, 5, 4, 3, 2, 1};
  for (size_t c = 0; c < sizes.size(); ++c) classes.insert(classes.end(), sizes[c], static_cast<int32_t>(c));
  classes.insert(classes.end(), 50, -1);
  return class_targets(std::move(classes));
}

TEST(StratifiedSplit, EveryClassOfThreeHasOneInEveryPart) {
  const Targets targets = uneven_classes();
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Split split = stratified_split(targets, seed);
    check_split(split, targets);
    EXPECT_EQ(split.train.size() + split.val.size() + split.test.size(), 1115U);
    auto counts = by_class(targets, split);
    EXPECT_EQ(counts[0], (std::array<int64_t, 3>{600, 200, 200}));
    EXPECT_EQ(counts[1], (std::array<int64_t, 3>{60, 20, 20}));
    EXPECT_EQ(counts[2], (std::array<int64_t, 3>{3, 1, 1}));
    EXPECT_EQ(counts[3], (std::array<int64_t, 3>{2, 1, 1}));
    EXPECT_EQ(counts[4], (std::array<int64_t, 3>{1, 1, 1}));
    EXPECT_EQ(counts[5], (std::array<int64_t, 3>{1, 0, 1}));
    EXPECT_EQ(counts[6], (std::array<int64_t, 3>{1, 0, 0}));
  }
  EXPECT_NE(stratified_split(targets, 1).train, stratified_split(targets, 2).train);
  EXPECT_EQ(stratified_split(targets, 1).train, stratified_split(targets, 1).train);
  const Split whole = stratified_split(targets, 1, 0.8, 0.2);
  EXPECT_TRUE(whole.test.empty()) << "a part without a share gets nothing";
}

// Low and high values are in every part: its mean is near that of all.
TEST(StratifiedSplit, ValuesAreSpreadEvenly) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(i * i);
  values[17] = std::nan("");
  const Targets targets = value_targets(values);
  const Split split = stratified_split(targets, 3);
  check_split(split, targets);
  EXPECT_NEAR(static_cast<double>(split.train.size()), 0.6 * 199, 1);
  const auto tenths = [&](const std::vector<NodeId>& part) {
    std::vector<int64_t> counts(10, 0);
    for (const NodeId node : part) ++counts[node / 20];
    return counts;
  };
  for (const auto& [part, least, most] :
       {std::tuple(split.train, 11, 13), std::tuple(split.val, 3, 5), std::tuple(split.test, 3, 5)}) {
    for (const int64_t count : tenths(part)) {
      EXPECT_GE(count, least);
      EXPECT_LE(count, most);
    }
  }
}

TEST(StratifiedSplit, RareLabelsAreInEveryPart) {
  Targets targets;
  targets.task = Task::kMultiLabel;
  targets.width = 2;
  for (int i = 0; i < 100; ++i) {
    targets.values.push_back(i % 2);
    targets.values.push_back(i < 3 ? 1 : 0);
  }
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const SplitSizes sizes = split_sizes(targets, stratified_split(targets, seed));
    EXPECT_EQ(sizes.classes[1].train, 1);
    EXPECT_EQ(sizes.classes[1].val, 1);
    EXPECT_EQ(sizes.classes[1].test, 1);
    EXPECT_TRUE(split_warnings(sizes).empty());
  }
}

TEST(KfoldSplit, EveryNodeIsTestedOnce) {
  const Targets targets = uneven_classes();
  std::vector<int64_t> tested(targets.size(), 0), validated(targets.size(), 0);
  for (int64_t fold = 0; fold < 5; ++fold) {
    const Split split = kfold_split(targets, 7, 5, fold);
    check_split(split, targets);
    EXPECT_EQ(split.test.size(), 223U);
    EXPECT_EQ(split.train.size(), 669U);
    for (const NodeId node : split.test) ++tested[node];
    for (const NodeId node : split.val) ++validated[node];
    EXPECT_EQ(by_class(targets, split)[1][2], 20);
  }
  for (int64_t node = 0; node < targets.size(); ++node) {
    EXPECT_EQ(tested[node], targets.known(node) ? 1 : 0);
    EXPECT_EQ(validated[node], tested[node]);
  }
}

TEST(KfoldSplit, RefusesWhatCannotBe) {
  const Targets targets = uneven_classes();
  EXPECT_EQ(test::error_of([&] { kfold_split(targets, 1, 2, 0); }),
            "a kfold split needs k of at least 3: one fold tests, one validates, the rest trains");
  EXPECT_EQ(test::error_of([&] { kfold_split(targets, 1, 5, 5); }),
            "kfold:k=5 has the folds 0 to 4, so there is no run 5: give --runs 5 at most, or a larger k");
  EXPECT_EQ(test::error_of([&] {
              stratified_split(class_targets({-1, -1}), 1);
            }),
            "a split needs labels, but no node has one; name the column to learn with --target");
}

Dataset with_targets(Targets targets) {
  Dataset dataset;
  dataset.name = "toy";
  dataset.targets = std::move(targets);
  return dataset;
}

TEST(AutomaticSplit, IsTheDatasOwnElseStratified) {
  Dataset dataset = with_targets(uneven_classes());
  EXPECT_EQ(split_of_run(dataset, "auto", 3).spec, "stratified");
  EXPECT_FALSE(split_of_run(dataset, "auto", 3).same_draw);
  dataset.default_split = "published";
  EXPECT_EQ(split_of_run(dataset, "auto", 3).spec, "published");
  dataset.default_split = "";
  dataset.splits.resize(2);
  EXPECT_EQ(split_of_run(dataset, "auto", 3).spec, "stored:index=1");
  EXPECT_EQ(split_of_run(dataset, "stored", 2).spec, "stored:index=0");
  EXPECT_EQ(split_of_run(dataset, "kfold", 2).spec, "kfold:fold=2");
  EXPECT_EQ(split_of_run(dataset, "kfold:k=7", 2).spec, "kfold:k=7,fold=2");
  EXPECT_TRUE(split_of_run(dataset, "kfold:k=7", 2).same_draw);
  EXPECT_EQ(split_of_run(dataset, "kfold:k=7,fold=1", 2).spec, "kfold:k=7,fold=1");
  EXPECT_EQ(split_of_run(dataset, "random:train=0.5", 2).spec, "random:train=0.5");
}

TEST(SplitWarnings, NameWhatIsMissing) {
  const Targets targets = class_targets({0, 0, 1, 1, 2, 2, 2}, {"red", "blue", "green"});
  const SplitSizes sizes = split_sizes(targets, {{0, 4, 5}, {6}, {}});
  EXPECT_EQ(sizes.all.train, 3);
  EXPECT_EQ(sizes.classes[2].train, 2);
  EXPECT_EQ(
      split_warnings(sizes),
      (std::vector<std::string>{"class 'red' is missing from val: the choice of the epoch does not see it; "
                                "--split decides",
                                "no node is in the part test; --split decides"}));
}

}  // namespace
}  // namespace qw
