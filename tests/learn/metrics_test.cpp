#include "qw/learn/metrics.h"

#include "learn/problem.h"
#include "qw/learn/scaling.h"

namespace qw {
namespace {

constexpr double kNone = NAN;

Scores scores_of(const std::vector<double>& rows, int64_t width) {
  const at::Tensor numbers = at::tensor(rows, at::kDouble).reshape({-1, width});
  return {numbers, at::empty({0}, at::kDouble)};
}

// Scores of 1 for the class of each node and 0 for the others.
Scores guesses(const std::vector<int>& classes, int64_t width) {
  std::vector<double> rows(classes.size() * width, 0.0);
  for (size_t node = 0; node < classes.size(); ++node) rows[node * width + classes[node]] = 1.0;
  return scores_of(rows, width);
}

const std::vector<NodeId> kEight = {0, 1, 2, 3, 4, 5, 6, 7};

void expect_metrics(const Metrics& actual, const Metrics& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].first, expected[i].first);
    if (std::isnan(expected[i].second)) {
      EXPECT_TRUE(std::isnan(actual[i].second)) << actual[i].first;
    } else {
      EXPECT_NEAR(actual[i].second, expected[i].second, 1e-14) << actual[i].first;
    }
  }
}

// Node 7 has no label. Confusion, rows truth and columns guess: {2 1 0; 1 1 0; 0 2 0}.
TEST(Metrics, OfClassesFollowTheConfusionMatrix) {
  const Targets targets = class_targets({0, 0, 0, 1, 1, 2, 2, -1}, {"a", "b", "c", "d"});
  const Scores scores = guesses({0, 0, 1, 0, 1, 1, 1, 2}, 4);
  const double f1_a = 2.0 * 2 / (2 * 2 + 1 + 1), f1_b = 2.0 * 1 / (2 * 1 + 3 + 1);
  expect_metrics(measure(targets, kEight, scores),
                 {{"accuracy", 3.0 / 7}, {"macro_f1", (f1_a + f1_b + 0.0) / 3}});
  EXPECT_EQ(primary_metric(targets, kEight, scores), 3.0 / 7);
  const std::vector<ClassRow> rows = by_class(targets, kEight, scores);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_EQ(rows[0].nodes, 3);
  EXPECT_DOUBLE_EQ(rows[0].precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(rows[0].recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(rows[1].precision, 1.0 / 4);
  EXPECT_DOUBLE_EQ(rows[1].recall, 1.0 / 2);
  EXPECT_DOUBLE_EQ(rows[1].f1, f1_b);
  EXPECT_EQ(rows[2].precision, 0.0);
  EXPECT_EQ(rows[2].recall, 0.0);
  EXPECT_EQ(rows[3].nodes, 0);
  EXPECT_EQ(rows[3].f1, 0.0);
  expect_metrics(measure(targets, {}, scores), {{"accuracy", kNone}, {"macro_f1", kNone}});
}

TEST(Metrics, AddTheTransport) {
  const Targets targets = class_targets({0, 1});
  Scores scores = scores_of({0, 1, 1, 0}, 2);
  const std::vector<NodeId> both = {0, 1};
  EXPECT_EQ(primary_metric(targets, both, scores), 0.0);
  scores.transport = at::tensor({2.0, 0.0, 0.0, 2.0}, at::kDouble).reshape({2, 2});
  EXPECT_EQ(primary_metric(targets, both, scores), 1.0);
}

TEST(Metrics, OfLabelsCountOnlyKnownOnes) {
  Targets targets{Task::kMultiLabel, 2, {}, {1, 0, 1, 1, 0, kNone, 0, 1}, {}};
  const Scores scores = scores_of({1, 1, -1, 1, 1, 1, -1, -1}, 2);
  const std::vector<NodeId> four = {0, 1, 2, 3};
  // Label 0: hit 1, wrong 1, missed 1. Label 1: hit 1, wrong 1, missed 1; one of eight is unknown.
  expect_metrics(measure(targets, four, scores),
                 {{"macro_f1", 0.5}, {"micro_f1", 0.5}, {"accuracy", 1.0 - 4.0 / 7}});
  EXPECT_EQ(by_class(targets, four, scores)[1].nodes, 2);
  EXPECT_EQ(by_class(targets, four, scores)[1].name, "1");
  expect_metrics(measure(targets, {}, scores),
                 {{"macro_f1", kNone}, {"micro_f1", kNone}, {"accuracy", kNone}});
}

TEST(Metrics, OfValues) {
  Targets targets{Task::kRegression, 2, {}, {1, 10, 2, 20, 3, kNone, 6, 30}, {}};
  const Scores scores = scores_of({1, 11, 1, 20, 3, 0, 5, 33}, 2);
  const std::vector<NodeId> four = {0, 1, 2, 3};
  const double squares = (0 + 1 + 0 + 1) + (1 + 0 + 9), absolute = 2 + 4;
  const double around_mean = (4 + 1 + 0 + 9) + (100 + 0 + 100);
  expect_metrics(measure(targets, four, scores),
                 {{"r2", 1 - squares / around_mean}, {"mse", squares / 7}, {"mae", absolute / 7}});
  EXPECT_TRUE(by_class(targets, four, scores).empty());
  const std::vector<NodeId> one = {0};
  expect_metrics(measure(targets, one, scores), {{"r2", kNone}, {"mse", 0.5}, {"mae", 0.5}});
  expect_metrics(measure(targets, {}, scores), {{"r2", kNone}, {"mse", kNone}, {"mae", kNone}});
}

TEST(Metrics, PrimaryIsTheFirst) {
  EXPECT_EQ(primary_metric_name(Task::kClassification), "accuracy");
  EXPECT_EQ(primary_metric_name(Task::kMultiLabel), "macro_f1");
  EXPECT_EQ(primary_metric_name(Task::kRegression), "r2");
}

TEST(Summarise, GivesMeanSampleDeviationAndInterval) {
  const Summary two = summarise({1.0, 3.0});
  EXPECT_EQ(two.mean, 2.0);
  EXPECT_DOUBLE_EQ(two.std, std::sqrt(2.0));
  EXPECT_EQ(two.ci95, 1.0);  // a quarter of the draws are 1, 1 and a quarter 3, 3
  EXPECT_EQ(summarise({0.7}).std, 0.0);
  EXPECT_EQ(summarise({0.7}).ci95, 0.0);
  EXPECT_EQ(summarise(std::vector<double>(10, 0.1)).ci95, 0.0);
  const RandomStream stream(3, 1);
  for (const int64_t runs : {10, 50}) {
    std::vector<double> normal;
    for (int64_t i = 0; i < runs; ++i) normal.push_back(5.0 + 2.0 * stream.normal(static_cast<uint64_t>(i)));
    const Summary summary = summarise(normal);
    const double error = summary.std / std::sqrt(static_cast<double>(runs));
    EXPECT_GT(summary.ci95, 1.0 * error);
    EXPECT_LT(summary.ci95, 3.0 * error);
    EXPECT_EQ(summarise(normal).ci95, summary.ci95);
  }
}

TEST(Summarise, OfNothingIsNothing) {
  for (const Summary& summary : {summarise({}), summarise({1.0, kNone, 2.0})}) {
    EXPECT_TRUE(std::isnan(summary.mean) && std::isnan(summary.std) && std::isnan(summary.ci95));
  }
}

Dataset table(const std::string& format, std::vector<float> values, int64_t columns) {
  Dataset data;
  data.format = format;
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  data.features = {rows, columns, false, std::move(values), {}, {}, {}, {}};
  data.targets = class_targets(std::vector<int32_t>(rows, 0));
  return data;
}

TEST(FeatureScaling, ColumnsHaveMeanZeroAndDeviationOne) {
  const Dataset data = table("csv", {1, 5, 3, 5, 5, 5}, 2);
  for (const char* kind : {"columns", "auto"}) {
    const Features scaled = FeatureScaling(kind, data).apply(data.features);
    const float step = std::sqrt(1.5f);
    EXPECT_FLOAT_EQ(scaled.dense[0], -step);
    EXPECT_FLOAT_EQ(scaled.dense[2], 0.0f);
    EXPECT_FLOAT_EQ(scaled.dense[4], step);
    EXPECT_EQ(scaled.dense[1], 0.0f);  // a constant is only shifted
  }
}

TEST(FeatureScaling, OfOtherDataUsesTheMomentsOfTheTraining) {
  const FeatureScaling scaling("columns", table("csv", {1, 5, 3, 5, 5, 5}, 2));
  const Features few = features_from_rows(2, {0, 0, 1, 1}, {0}, {9.0f});  // sparse: {0 0; 9 0; 0 0}
  ASSERT_TRUE(few.sparse);
  const Features scaled = scaling.apply(few);
  ASSERT_FALSE(scaled.sparse);
  const float step = std::sqrt(1.5f) / 2;
  EXPECT_FLOAT_EQ(scaled.dense[0], -3 * step);
  EXPECT_FLOAT_EQ(scaled.dense[1], -5.0f);
  EXPECT_FLOAT_EQ(scaled.dense[2], 6 * step);
}

TEST(FeatureScaling, ChoosesByWhereTheDataIsFrom) {
  const std::vector<float> numbers = {1, 3, 2, 2};
  const auto scaled = [&](const std::string& kind, Dataset data) {
    return FeatureScaling(kind, data).apply(data.features);
  };
  EXPECT_EQ(scaled("auto", table("planetoid", numbers, 2)).dense, (std::vector<float>{0.25, 0.75, 0.5, 0.5}));
  EXPECT_EQ(scaled("rows", table("csv", numbers, 2)).dense, (std::vector<float>{0.25, 0.75, 0.5, 0.5}));
  EXPECT_EQ(scaled("auto", table("csbm", numbers, 2)).dense, numbers);
  EXPECT_EQ(scaled("none", table("csv", numbers, 2)).dense, numbers);
  Dataset values = table("ogb", numbers, 2);
  values.targets = value_targets({1, 2});
  EXPECT_EQ(scaled("auto", values).dense, numbers);
  Dataset sparse = table("csv", numbers, 2);
  sparse.features = features_from_rows(4, {0, 1, 2}, {0, 3}, {2.0f, 4.0f});
  for (const char* kind : {"auto", "columns"}) {
    EXPECT_EQ(scaled(kind, sparse).values, sparse.features.values);
  }
}

TEST(TargetScaling, StandardisesByTheTrainingNodesAndBack) {
  const Targets targets{Task::kRegression, 2, {}, {1, 7, 3, 7, 1000, -50, kNone, 7}, {}};
  const std::vector<NodeId> training = {0, 1, 3};
  const TargetScaling scaling(targets, training);
  EXPECT_EQ(scaling.mean(), (std::vector<double>{2, 7}));
  EXPECT_EQ(scaling.deviation(), (std::vector<double>{1, 1}));
  const Targets scaled = scaling.apply(targets);
  EXPECT_EQ(scaled.values[0], -1.0);
  EXPECT_EQ(scaled.values[2], 1.0);
  EXPECT_EQ(scaled.values[4], 998.0);
  EXPECT_EQ(scaled.values[5], -57.0);
  EXPECT_TRUE(std::isnan(scaled.values[6]));

  const TargetScaling wide({2, 7}, {4, 0.5});
  Scores scores = scores_of({0, 0, 1, 2}, 2);
  scores.transport = at::ones({2, 2}, at::kDouble);
  const Scores back = wide.undo(scores);
  EXPECT_TRUE(at::equal(back.network, scores_of({2, 7, 6, 8}, 2).network));
  EXPECT_TRUE(at::equal(back.transport, scores_of({4, 0.5, 4, 0.5}, 2).network));
  EXPECT_EQ(wide.undo(scores_of({0, 0}, 2)).transport.numel(), 0);
}

TEST(TargetScaling, OfNothingLeavesValuesAsTheyAre) {
  const Targets values = one_hot(class_targets({0, 2, -1, 1}));
  const TargetScaling none;
  const Targets same = none.apply(values);
  ASSERT_EQ(same.values.size(), values.values.size());
  for (size_t i = 0; i < values.values.size(); ++i) {
    EXPECT_TRUE(test::same_number(same.values[i], values.values[i])) << i;
  }
  const Scores scores{at::rand({4, 3}), at::rand({4, 3})};
  EXPECT_TRUE(at::equal(none.undo(scores).network, scores.network));
  EXPECT_TRUE(at::equal(none.undo(scores).transport, scores.transport));
}

TEST(TargetScaling, LeavesClassesAlone) {
  const Targets targets = class_targets({0, 1, 1});
  const std::vector<NodeId> all = {0, 1, 2};
  const TargetScaling scaling(targets, all);
  EXPECT_TRUE(scaling.mean().empty());
  EXPECT_EQ(scaling.apply(targets).classes, targets.classes);
  const Scores scores = scores_of({1, 2, 3, 4, 5, 6}, 2);
  EXPECT_TRUE(at::equal(scaling.undo(scores).network, scores.network));
}

}  // namespace
}  // namespace qw
