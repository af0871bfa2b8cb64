#include "qw/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"

namespace qw {
namespace {

using testing::HasSubstr;

template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const double kNan = std::nan("");

double of_classes(std::string_view name, int64_t classes, const std::vector<int32_t>& truth,
                  const std::vector<int32_t>& predicted, const std::vector<double>& probability = {},
                  const std::vector<double>& weights = {}) {
  return class_metric(name, {classes, truth, predicted, probability, weights});
}

TEST(ClassMetrics, ByHandOnFiveNodes) {
  const std::vector<int32_t> truth = {0, 0, 0, 1, 2}, predicted = {0, 0, 1, 1, 1};
  EXPECT_DOUBLE_EQ(of_classes("accuracy", 4, truth, predicted), 3.0 / 5);
  EXPECT_DOUBLE_EQ(of_classes("balanced_accuracy", 4, truth, predicted), (2.0 / 3 + 1 + 0) / 3);
  // F1 of classes 0, 1, 2 is 4/5, 2/4, 0; class 3 does not occur.
  EXPECT_DOUBLE_EQ(of_classes("macro_f1", 4, truth, predicted), (0.8 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(of_classes("weighted_f1", 4, truth, predicted), (3 * 0.8 + 0.5 + 0) / 5);
  EXPECT_DOUBLE_EQ(of_classes("micro_f1", 4, truth, predicted), 3.0 / 5);
}

TEST(ClassMetrics, RankingByHandWithATie) {
  // Scores of class 1, highest first: + (- +) -; the tied pair counts half.
  const std::vector<double> probability = {0.1, 0.9, 0.5, 0.5, 0.5, 0.5, 0.8, 0.2};
  const std::vector<int32_t> truth = {1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(of_classes("roc_auc", 2, truth, truth, probability), 3.5 / 4);
  EXPECT_DOUBLE_EQ(of_classes("average_precision", 2, truth, truth, probability), 0.5 * 1 + 0.5 * (2.0 / 3));
}

TEST(ClassMetrics, WeightTwoIsTheNodeTwiceAndWeightZeroIsNoNode) {
  const RandomStream random(7, 1);
  std::vector<int32_t> truth, predicted, truth_twice, predicted_twice;
  std::vector<double> probability, probability_twice, weights;
  for (int i = 0; i < 60; ++i) {
    const double a = random.uniform(3 * i), b = random.uniform(3 * i + 1) * (1 - a);
    const auto right = static_cast<int32_t>(random.below(3 * i + 2, 3));
    const int32_t guess = a > 0.4 ? 0 : 1;
    weights.push_back(i % 3);
    truth.push_back(right), predicted.push_back(guess);
    for (const double p : {a, b, 1 - a - b}) probability.push_back(p);
    for (int copy = 0; copy < i % 3; ++copy) {
      truth_twice.push_back(right), predicted_twice.push_back(guess);
      for (const double p : {a, b, 1 - a - b}) probability_twice.push_back(p);
    }
  }
  for (const MetricInfo& metric : class_metrics()) {
    EXPECT_NEAR(of_classes(metric.name, 3, truth, predicted, probability, weights),
                of_classes(metric.name, 3, truth_twice, predicted_twice, probability_twice), 1e-13)
        << metric.name;
  }
}

TEST(ClassMetrics, ConstantProbabilitiesHaveKnownLosses) {
  const std::vector<int32_t> truth = {0, 1, 2, 3};
  const std::vector<double> uniform(16, 0.25);
  EXPECT_DOUBLE_EQ(of_classes("log_loss", 4, truth, truth, uniform), std::log(4));
  EXPECT_DOUBLE_EQ(of_classes("brier", 4, truth, truth, uniform), 3 * 0.0625 + 0.5625);
  EXPECT_DOUBLE_EQ(of_classes("roc_auc", 4, truth, truth, uniform), 0.5);
  EXPECT_DOUBLE_EQ(of_classes("ece", 4, truth, truth, uniform), 0.0);  // one in four is right, with 0.25
}

TEST(ClassMetrics, UndefinedIsNan) {
  for (const MetricInfo& metric : class_metrics()) {
    EXPECT_TRUE(std::isnan(of_classes(metric.name, 3, {}, {}))) << metric.name;
    EXPECT_TRUE(std::isnan(of_classes(metric.name, 2, {1}, {1}, {0.5, 0.5}, {0}))) << metric.name;
  }
  EXPECT_TRUE(std::isnan(of_classes("roc_auc", 2, {1, 1}, {1, 1}, {0.5, 0.5, 0.1, 0.9})));
  EXPECT_TRUE(std::isnan(of_classes("average_precision", 2, {1, 1}, {1, 1}, {0.5, 0.5, 0.1, 0.9})));
  for (const MetricInfo& metric : class_metrics()) {
    const double value = of_classes(metric.name, 2, {0, 1}, {0, 0}, {0.5, 0.5, kNan, kNan});
    EXPECT_EQ(std::isnan(value), metric.needs_probabilities) << metric.name;
  }
}

TEST(ClassMetrics, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(of_classes("acuracy", 2, {0}, {0}), UsageError);
  EXPECT_THAT(error_of([] { of_classes("acuracy", 2, {0}, {0}); }),
              HasSubstr("metric of classes: 'acuracy' is unknown; did you mean 'accuracy'?"));
  EXPECT_THAT(error_of([] { of_classes("r2", 2, {0}, {0}); }), HasSubstr("known: accuracy"));
  EXPECT_THAT(
      error_of([] { of_classes("ece", 2, {0}, {0}); }),
      HasSubstr("metric 'ece' needs the probabilities of the classes, and only predicted classes are"));
  EXPECT_THAT(error_of([] {
                of_classes("ece", 2, {0}, {0, 1});
              }),
              HasSubstr("predicted has 2 entries, expected 1"));
  EXPECT_THAT(error_of([] { of_classes("ece", 2, {0}, {0}, {1.0}); }),
              HasSubstr("probability has 1 entries, expected 2"));
  EXPECT_THAT(error_of([] {
                of_classes("accuracy", 2, {0}, {0}, {}, {1, 1});
              }),
              HasSubstr("weights has 2 entries, expected 1"));
  EXPECT_THAT(error_of([] { of_classes("accuracy", 2, {0}, {0}, {}, {-1}); }),
              HasSubstr("the weight of entry 0 is -1, expected a finite number of at least 0"));
  EXPECT_THAT(error_of([] {
                of_classes("accuracy", 2, {0, 2}, {0, 0});
              }),
              HasSubstr("the true class of entry 1 is 2, expected one of 0 .. 1"));
  EXPECT_THAT(error_of([] {
                of_classes("accuracy", 2, {0, 1}, {-1, 0});
              }),
              HasSubstr("the predicted class of entry 0 is -1"));
}

TEST(ClassMetrics, SameBitsForAnyNumberOfThreads) {
  const RandomStream random(3, 5);
  const int64_t nodes = 2000, classes = 9;
  std::vector<int32_t> truth(nodes);
  std::vector<double> probability(nodes * classes), weights(nodes);
  for (int64_t i = 0; i < nodes; ++i) {
    truth[i] = static_cast<int32_t>(random.below(i, classes));
    weights[i] = random.uniform(nodes + i);
    for (int64_t c = 0; c < classes; ++c) {
      probability[i * classes + c] = std::round(50 * random.uniform(10 * nodes + i * classes + c)) / 50;
    }
  }
  const int threads = thread_count();
  for (const MetricInfo& metric : class_metrics()) {
    set_thread_count(1);
    const double one = of_classes(metric.name, classes, truth, truth, probability, weights);
    set_thread_count(7);
    EXPECT_EQ(one, of_classes(metric.name, classes, truth, truth, probability, weights)) << metric.name;
  }
  set_thread_count(threads);
}

double of_labels(std::string_view name, int64_t labels, const std::vector<double>& truth,
                 const std::vector<char>& predicted, const std::vector<double>& probability = {},
                 const std::vector<double>& weights = {}) {
  return label_metric(name, {labels, truth, predicted, probability, weights});
}

TEST(LabelMetrics, ByHandWithAnUnknownEntryAndALabelNobodyHas) {
  const std::vector<double> truth = {1, 0, 0, 1, kNan, 0, 0, 1, 0};
  const std::vector<char> predicted = {1, 0, 0, 0, 1, 0, 1, 1, 0};
  // Label 0: hit, missed, wrong. Label 1: right, unknown, hit. Label 2: nowhere.
  EXPECT_DOUBLE_EQ(of_labels("macro_f1", 3, truth, predicted), (0.5 + 1.0) / 2);
  EXPECT_DOUBLE_EQ(of_labels("micro_f1", 3, truth, predicted), 4.0 / 6);
  EXPECT_DOUBLE_EQ(of_labels("weighted_f1", 3, truth, predicted), (2 * 0.5 + 1 * 1.0) / 3);
  EXPECT_DOUBLE_EQ(of_labels("accuracy", 3, truth, predicted), 6.0 / 8);
}

TEST(LabelMetrics, UndefinedIsNanAndNothingFoundIsZero) {
  EXPECT_TRUE(std::isnan(of_labels("macro_f1", 1, {0, 0}, {0, 0})));
  EXPECT_TRUE(std::isnan(of_labels("weighted_f1", 1, {0, 0}, {0, 0})));
  EXPECT_EQ(of_labels("weighted_f1", 1, {0, 0}, {0, 1}), 0.0);
  EXPECT_EQ(of_labels("accuracy", 1, {0, 0}, {0, 0}), 1.0);
  for (const MetricInfo& metric : label_metrics()) {
    EXPECT_TRUE(std::isnan(of_labels(metric.name, 2, {kNan, kNan}, {0, 1}, {0.1, 0.9}))) << metric.name;
    EXPECT_TRUE(std::isnan(of_labels(metric.name, 2, {}, {}))) << metric.name;
  }
  // The first label cannot be ranked and is left out.
  EXPECT_EQ(of_labels("roc_auc", 2, {1, 0, 1, 1}, {1, 1, 1, 1}, {0.9, 0.2, 0.8, 0.7}), 1.0);
}

TEST(LabelMetrics, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(error_of([] { of_labels("balanced_accuracy", 1, {0}, {0}); }),
              HasSubstr("metric of labels: 'balanced_accuracy' is unknown"));
  EXPECT_THAT(error_of([] { of_labels("brier", 1, {0}, {0}); }),
              HasSubstr("only predicted labels are known"));
  EXPECT_THAT(error_of([] {
                of_labels("accuracy", 2, {0, 1, 0.5, 0}, {0, 0, 0, 0});
              }),
              HasSubstr("the true label 0 of entry 1 is 0.5, expected 0, 1 or NaN"));
  EXPECT_THAT(error_of([] {
                of_labels("accuracy", 2, {0, 1, 0}, {0, 0, 0});
              }),
              HasSubstr("truth has 3 entries, expected 2"));
}

double of_values(std::string_view name, int64_t columns, const std::vector<double>& truth,
                 const std::vector<double>& predicted, const std::vector<double>& weights = {}) {
  return value_metric(name, {columns, truth, predicted, weights});
}

TEST(ValueMetrics, ByHand) {
  const std::vector<double> truth = {1, 2, 3, kNan}, predicted = {1, 3, 5, 7};
  EXPECT_DOUBLE_EQ(of_values("mse", 1, truth, predicted), 5.0 / 3);
  EXPECT_DOUBLE_EQ(of_values("rmse", 1, truth, predicted), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(of_values("mae", 1, truth, predicted), 1.0);
  EXPECT_DOUBLE_EQ(of_values("median_ae", 1, truth, predicted), 1.0);
  EXPECT_DOUBLE_EQ(of_values("r2", 1, truth, predicted), 1 - 5.0 / 2);
  EXPECT_DOUBLE_EQ(of_values("median_ae", 1, {0, 0, 0, 0}, {4, -1, 2, -8}), 3.0);
  EXPECT_DOUBLE_EQ(of_values("median_ae", 1, {0, 0, 0, 0}, {4, -1, 2, -8}, {1, 9, 1, 1}), 1.0);
}

TEST(ValueMetrics, ColumnsArePooledAndEachHasItsMean) {
  // Squares around the columns' means: 2 and 200; squared errors: 1 and 100.
  const std::vector<double> truth = {0, 10, 2, 30}, predicted = {0, 10, 1, 20};
  EXPECT_DOUBLE_EQ(of_values("r2", 2, truth, predicted), 1 - 101.0 / 202);
  EXPECT_DOUBLE_EQ(of_values("mae", 2, truth, predicted), 11.0 / 4);
}

// The training log and stored results hold values that were summed column by column, node by node; every bit
// of them must stay.
TEST(ValueMetrics, SumsColumnByColumnNodeByNode) {
  const RandomStream random(31, 2);
  const int64_t nodes = 501, columns = 3;
  std::vector<double> truth, predicted;
  for (int64_t at = 0; at < nodes * columns; ++at) {
    truth.push_back(at % 11 == 4 ? kNan : 1e3 * random.normal(2 * at));
    predicted.push_back(1e3 * random.normal(2 * at + 1));
  }
  double squares = 0, absolute = 0, around_mean = 0, all = 0;
  for (int64_t c = 0; c < columns; ++c) {
    double mean = 0, known = 0;
    for (int64_t at = c; at < nodes * columns; at += columns) {
      if (!std::isnan(truth[at])) mean += truth[at], known += 1;
    }
    mean /= known;
    for (int64_t at = c; at < nodes * columns; at += columns) {
      if (std::isnan(truth[at])) continue;
      squares += (predicted[at] - truth[at]) * (predicted[at] - truth[at]);
      absolute += std::abs(predicted[at] - truth[at]);
      around_mean += (truth[at] - mean) * (truth[at] - mean);
    }
    all += known;
  }
  EXPECT_EQ(of_values("r2", columns, truth, predicted), 1.0 - squares / around_mean);
  EXPECT_EQ(of_values("mse", columns, truth, predicted), squares / all);
  EXPECT_EQ(of_values("mae", columns, truth, predicted), absolute / all);
}

TEST(ValueMetrics, UndefinedIsNan) {
  for (const MetricInfo& metric : value_metrics()) {
    EXPECT_TRUE(std::isnan(of_values(metric.name, 1, {}, {}))) << metric.name;
    EXPECT_TRUE(std::isnan(of_values(metric.name, 2, {kNan, kNan}, {1, 2}))) << metric.name;
    EXPECT_TRUE(std::isnan(of_values(metric.name, 1, {1, 2, 3}, {1, kNan, 3}))) << metric.name;
  }
  EXPECT_TRUE(std::isnan(of_values("r2", 1, {4}, {4})));
  // The mean of three times 0.1 is not 0.1: without care, R2 would be minus 1e30.
  EXPECT_TRUE(std::isnan(of_values("r2", 1, {0.1, 0.1, 0.1}, {1, 2, 3})));
}

TEST(ValueMetrics, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(error_of([] { of_values("accuracy", 1, {0}, {0}); }),
              HasSubstr("metric of values: 'accuracy' is unknown; known: r2, rmse, mse, mae, median_ae"));
  EXPECT_THAT(error_of([] {
                of_values("r2", 2, {0, 1}, {0});
              }),
              HasSubstr("predicted has 1 entries, expected 2"));
}

}  // namespace
}  // namespace qw
