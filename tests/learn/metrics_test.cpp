#include "qw/learn/metrics.h"

#include <gmock/gmock.h>

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

// Some of the metrics.
void expect_metrics(const Metrics& actual, const Metrics& expected) {
  for (const auto& [name, value] : expected) {
    const auto found =
        std::find_if(actual.begin(), actual.end(), [&](const auto& each) { return each.first == name; });
    ASSERT_NE(found, actual.end()) << name;
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(found->second)) << name;
    } else {
      EXPECT_NEAR(found->second, value, 1e-14) << name;
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
  EXPECT_EQ(measure_one(targets, kEight, scores, find_metric(targets.task, "auto")), 3.0 / 7);
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
  const MetricInfo& accuracy = find_metric(Task::kClassification, "accuracy");
  EXPECT_EQ(measure_one(targets, both, scores, accuracy), 0.0);
  scores.transport = at::tensor({2.0, 0.0, 0.0, 2.0}, at::kDouble).reshape({2, 2});
  EXPECT_EQ(measure_one(targets, both, scores, accuracy), 1.0);
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

// Learned in columns of deviation 1, measured in those of before.
TEST(Metrics, OfValuesAreInTheUnitsThatWereAskedFor) {
  const Targets targets{Task::kRegression, 2, {}, {1, 2, 3, 5}, {}};
  const Scores scores = scores_of({1.5, 2, 3, 4}, 2);
  const std::vector<NodeId> both = {0, 1};
  const std::vector<double> units = {10, 0.5};
  const auto one = [&](const char* name) {
    return measure_one(targets, both, scores, find_metric(Task::kRegression, name), units);
  };
  EXPECT_DOUBLE_EQ(one("mae"), (5 + 0 + 0 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(one("r2"), 1 - (25 + 0.25) / (2 * 100 + 2 * 0.5625));
}

TEST(Metrics, TheOneThatCountsIsTheFirst) {
  EXPECT_EQ(find_metric(Task::kClassification, "auto").name, "accuracy");
  EXPECT_EQ(find_metric(Task::kMultiLabel, "auto").name, "macro_f1");
  EXPECT_EQ(find_metric(Task::kRegression, "auto").name, "r2");
  const Targets targets = class_targets({0, 1});
  const std::vector<NodeId> both = {0, 1};
  const Metrics metrics = measure(targets, both, scores_of({1, 0, 3, 0}, 2), {"log_loss"});
  EXPECT_EQ(metrics.front().first, "log_loss");
  EXPECT_NEAR(metrics.front().second, (std::log1p(std::exp(-1.0)) + std::log1p(std::exp(3.0))) / 2, 1e-12);
  EXPECT_EQ(metrics.size(), class_metrics().size());
  const Metrics cooler = measure(targets, both, scores_of({1, 0, 3, 0}, 2), {"log_loss", 2.0});
  EXPECT_NEAR(cooler.front().second, (std::log1p(std::exp(-0.5)) + std::log1p(std::exp(1.5))) / 2, 1e-12);
  EXPECT_THAT(
      test::error_of([] { find_metric(Task::kRegression, "accuracy"); }),
      testing::AllOf(testing::HasSubstr("--metric 'accuracy' is unknown"), testing::HasSubstr("rmse")));
  EXPECT_TRUE(higher_is_better("auto") && higher_is_better("roc_auc"));
  EXPECT_FALSE(higher_is_better("mae") || higher_is_better("log_loss"));
}

// Probabilities of solvers that predict them are used as they are.
TEST(Metrics, OfScoresThatAreProbabilities) {
  const Targets targets = class_targets({0, 1});
  Scores scores = scores_of({0.8, 0.2, 0.6, 0.4}, 2);
  scores.in_label_space = true;
  const std::vector<NodeId> both = {0, 1};
  expect_metrics(measure(targets, both, scores),
                 {{"accuracy", 0.5}, {"log_loss", -(std::log(0.8) + std::log(0.4)) / 2}});
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
  Dataset of_paper = table("planetoid", numbers, 2);
  of_paper.of_paper = true;
  EXPECT_EQ(scaled("auto", of_paper).dense, (std::vector<float>{0.25, 0.75, 0.5, 0.5}));
  EXPECT_EQ(scaled("auto", table("planetoid", numbers, 2)).dense, (std::vector<float>{-1, 1, 1, -1}))
      << "row sums are for the paper's graphs";
  EXPECT_EQ(scaled("rows", table("csv", numbers, 2)).dense, (std::vector<float>{0.25, 0.75, 0.5, 0.5}));
  EXPECT_EQ(scaled("auto", table("generator", numbers, 2)).dense, numbers);
  EXPECT_EQ(scaled("none", table("csv", numbers, 2)).dense, numbers);
}

TEST(FeatureScaling, LeavesZerosAndOnesAsTheyAre) {
  const Dataset data = table("csv", {0, 1, 1, 3, 0, 5}, 2);
  const FeatureScaling scaling("auto", data);
  const Features scaled = scaling.apply(data.features);
  EXPECT_EQ(scaled.dense[0], 0.0f);
  EXPECT_EQ(scaled.dense[2], 1.0f);
  EXPECT_FLOAT_EQ(scaled.dense[1], -std::sqrt(1.5f));
  EXPECT_EQ(scaling.summary(),
            "features: 1 of 2 columns are brought to mean 0 and deviation 1 (--scale-features)");
  EXPECT_FLOAT_EQ(FeatureScaling("columns", data).apply(data.features).dense[0], -std::sqrt(0.5f));
  const Dataset flags = table("csv", {0, 1, 1, 0}, 2);
  EXPECT_EQ(FeatureScaling("auto", flags).kind(), "none");
}

// Of sparse features the zeros count, and stay zero.
TEST(FeatureScaling, DividesSparseColumnsByTheirDeviation) {
  Dataset data = table("csv", {0}, 1);
  data.features = features_from_rows(6, {0, 2, 3, 4}, {0, 1, 0, 5}, {0.5f, 3.0f, 2.0f, 1.0f});
  ASSERT_TRUE(data.features.sparse);
  const auto deviation = [](double a, double b, double c) {
    const double mean = (a + b + c) / 3;
    return std::sqrt(((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 3);
  };
  const FeatureScaling all("columns", data), chosen("auto", data);
  const Features scaled = all.apply(data.features), bag = chosen.apply(data.features);
  ASSERT_TRUE(scaled.sparse);
  EXPECT_FLOAT_EQ(scaled.values[0], static_cast<float>(0.5 / deviation(0.5, 2, 0)));
  EXPECT_FLOAT_EQ(scaled.values[1], static_cast<float>(3 / deviation(3, 0, 0)));
  EXPECT_FLOAT_EQ(scaled.values[2], static_cast<float>(2 / deviation(0.5, 2, 0)));
  EXPECT_FLOAT_EQ(bag.values[0], scaled.values[0]);
  EXPECT_EQ(bag.values[1], 3.0f) << "a count of words stays";
  EXPECT_EQ(bag.values[3], 1.0f);
  EXPECT_EQ(chosen.summary(), "features: 1 of 6 columns are divided by their deviation (--scale-features)");
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
