#include "qw/baseline/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "qw/metrics/calibration.h"
#include "qw/metrics/metrics.h"

namespace qw {
namespace {

using testing::HasSubstr;

constexpr double kLong = 1e9;
const double kNan = std::nan("");

Features dense(int64_t rows, int64_t columns, std::vector<float> values) {
  Features features;
  features.rows = rows;
  features.columns = columns;
  features.dense = std::move(values);
  return features;
}

Features as_sparse(const Features& given) {
  Features features;
  features.rows = given.rows;
  features.columns = given.columns;
  features.sparse = true;
  features.offsets.push_back(0);
  for (int64_t i = 0; i < given.rows; ++i) {
    for (int64_t j = 0; j < given.columns; ++j) {
      if (given.dense[i * given.columns + j] == 0) continue;
      features.indices.push_back(static_cast<int32_t>(j));
      features.values.push_back(given.dense[i * given.columns + j]);
    }
    features.offsets.push_back(static_cast<int64_t>(features.values.size()));
  }
  return features;
}

Targets values_of(Task task, int64_t width, std::vector<double> values) {
  Targets targets;
  targets.task = task;
  targets.width = width;
  targets.values = std::move(values);
  return targets;
}

std::vector<NodeId> first(int64_t count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return nodes;
}

// Two thirds of the features are zero; each class likes other features.
struct Problem {
  Features features;
  std::vector<int32_t> classes;
};

Problem drawn(int64_t rows, int64_t columns, int32_t classes, uint64_t seed) {
  const RandomStream random(seed, 21);
  Problem problem{dense(rows, columns, {}), {}};
  uint64_t counter = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const auto own = static_cast<int32_t>(random.below(counter++, classes));
    problem.classes.push_back(own);
    for (int64_t j = 0; j < columns; ++j) {
      const double value = random.normal(counter++) + (j % classes == own ? 0.7 : 0);
      problem.features.dense.push_back(random.uniform(counter++) < 0.6 ? 0.0f : static_cast<float>(value));
    }
  }
  return problem;
}

TEST(LinearModel, RidgeOfOneFeatureHasAClosedForm) {
  // Standardised x is -+sqrt(1.5), 0; slope on it: sum(x y) / (sum(x^2) + strength).
  const Features features = dense(4, 1, {1, 2, 3, 10});
  const Targets targets = values_of(Task::kRegression, 1, {2, 7, 6, kNan});
  const auto model = fit_linear(features, targets, first(3), 0.5, kLong);
  ASSERT_TRUE(model);
  const double scale = std::sqrt(1.5), slope = scale * 4 / (3 + 0.5) * scale;
  EXPECT_NEAR(model->weights[0], slope, 1e-9);
  EXPECT_NEAR(model->intercept[0], 5 - 2 * slope, 1e-9);
  EXPECT_NEAR(model->predict(features)[3], 5 + 8 * slope, 1e-8);
}

TEST(LinearModel, UnrelatedTargetsWithOtherUnitsAreEachSolved) {
  Problem problem = drawn(50, 6, 2, 3);
  std::vector<double> both, large, small;
  const RandomStream random(4, 4);
  for (int i = 0; i < 50; ++i) {
    large.push_back(1e6 * random.normal(2 * i));
    small.push_back(1e-6 * random.normal(2 * i + 1));
    both.push_back(large.back());
    both.push_back(small.back());
  }
  const auto model = fit_linear(problem.features, values_of(Task::kRegression, 2, both), first(50), 2, kLong);
  const auto alone =
      fit_linear(problem.features, values_of(Task::kRegression, 1, small), first(50), 2, kLong);
  for (int j = 0; j < 6; ++j) EXPECT_NEAR(model->weights[2 * j + 1] / alone->weights[j], 1, 1e-6);
}

// At the minimum the derivative of the penalised sum of losses by every weight and intercept is zero.
TEST(LinearModel, GradientIsZeroAtTheMinimum) {
  const Problem problem = drawn(120, 8, 4, 5);
  const double strength = 0.3;
  const auto model =
      fit_linear(problem.features, class_targets(problem.classes), first(100), strength, kLong);
  ASSERT_TRUE(model);
  const auto probability = model->predict(problem.features);
  for (int64_t j = -1; j < 8; ++j) {
    double mean = 0, squares = 0;
    const auto x = [&](int64_t i) { return j < 0 ? 1.0 : problem.features.dense[i * 8 + j]; };
    for (int i = 0; i < 100; ++i) mean += x(i) / 100;
    for (int i = 0; i < 100; ++i) squares += (x(i) - mean) * (x(i) - mean) / 100;
    const double deviation = j < 0 ? 1 : std::sqrt(squares);
    for (int c = 0; c < 4; ++c) {
      double gradient = j < 0 ? 0 : strength * model->weights[j * 4 + c] * deviation;
      for (int i = 0; i < 100; ++i) {
        gradient += x(i) / deviation * (probability[i * 4 + c] - (problem.classes[i] == c ? 1 : 0));
      }
      EXPECT_NEAR(gradient, 0, 1e-6) << "feature " << j << " class " << c;
    }
  }
}

TEST(LinearModel, SparseIsDense) {
  const Problem problem = drawn(150, 12, 3, 8);
  const Features sparse = as_sparse(problem.features);
  std::vector<double> labels, values;
  for (size_t i = 0; i < problem.classes.size(); ++i) {
    labels.push_back(problem.classes[i] == 1);
    labels.push_back(i % 7 == 0 ? kNan : problem.classes[i] == 2);
    values.push_back(problem.classes[i] * 3.5 - static_cast<double>(i % 5));
  }
  for (const Targets& targets : {class_targets(problem.classes), values_of(Task::kMultiLabel, 2, labels),
                                 values_of(Task::kRegression, 1, values)}) {
    const auto one = fit_linear(problem.features, targets, first(110), 0.7, kLong);
    const auto other = fit_linear(sparse, targets, first(110), 0.7, kLong);
    ASSERT_TRUE(one && other);
    const auto p = one->predict(problem.features), q = other->predict(sparse);
    for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], q[i], 1e-7) << task_name(targets.task);
  }
}

TEST(LinearModel, SameBitsForAnyNumberOfThreads) {
  const Problem problem = drawn(3000, 40, 5, 2);
  const Features sparse = as_sparse(problem.features);
  const Split split{first(2000), {2500, 2501, 2600}, {}};
  const int threads = thread_count();
  for (const Features* features : {&problem.features, &sparse}) {
    set_thread_count(1);
    const auto one = fit_linear(*features, class_targets(problem.classes), split, kLong);
    set_thread_count(6);
    const auto six = fit_linear(*features, class_targets(problem.classes), split, kLong);
    EXPECT_EQ(one->weights, six->weights);
    EXPECT_EQ(one->intercept, six->intercept);
    EXPECT_EQ(one->strength, six->strength);
  }
  set_thread_count(threads);
}

TEST(LinearModel, StrengthHasTheLeastValidationLossOfTheGrid) {
  const Problem problem = drawn(300, 30, 3, 6);
  const Targets targets = class_targets(problem.classes);
  Split split{first(60), {}, {}};
  for (NodeId node = 60; node < 200; ++node) split.val.push_back(node);
  const auto chosen = fit_linear(problem.features, targets, split, kLong);
  ASSERT_TRUE(chosen);
  for (const double strength : {1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3}) {
    const auto model = fit_linear(problem.features, targets, split.train, strength, kLong);
    const auto probability = model->predict(problem.features);
    double loss = 0;
    for (const NodeId node : split.val) {
      loss -= std::log(probability[node * 3 + problem.classes[node]]) / static_cast<double>(split.val.size());
    }
    if (strength == chosen->strength) {
      EXPECT_NEAR(loss, chosen->validation_loss, 1e-6);
    } else {
      EXPECT_GT(loss, chosen->validation_loss);
    }
  }
  split.val.clear();
  EXPECT_EQ(fit_linear(problem.features, targets, split, kLong)->strength, 1.0);
}

TEST(LinearModel, ClassesAbsentFromTrainingHaveProbabilityZero) {
  const Features features = dense(6, 1, {0, 1, 2, 3, 4, 5});
  const Targets targets = class_targets({1, 1, 3, 3, 0, 2});
  const auto model = fit_linear(features, targets, Split{first(4), {4, 5}, {}}, kLong);
  ASSERT_TRUE(model);
  const auto p = model->predict(features);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(p[4 * i], 0);
    EXPECT_EQ(p[4 * i + 2], 0);
    EXPECT_NEAR(p[4 * i + 1] + p[4 * i + 3], 1, 1e-12);
  }
  const auto certain = fit_linear(features, targets, first(2), 1, kLong)->predict(features);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(certain[4 * i + 1], 1);
}

TEST(LinearModel, LabelsThatDoNotVaryInTrainingAreSettled) {
  const Features features = dense(3, 1, {0, 1, 4});
  const Targets labels = values_of(Task::kMultiLabel, 4, {1, 0, 1, kNan, 1, 0, 0, kNan, 0, 1, 1, 1});
  const auto p = fit_linear(features, labels, Split{first(2), {2}, {}}, kLong)->predict(features);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(p[4 * i], 1);
    EXPECT_EQ(p[4 * i + 1], 0);
    EXPECT_GT(p[4 * i + 2], 0);
    EXPECT_LT(p[4 * i + 2], 1);
    EXPECT_TRUE(std::isnan(p[4 * i + 3]));
  }
}

TEST(LinearModel, ConstantFeaturesAndNoFeaturesLeaveTheShares) {
  const Targets targets = class_targets({0, 1, 1, 2, 2, 2});
  for (const Features& features : {dense(6, 1, std::vector<float>(6, 0.1f)), dense(6, 0, {}),
                                   as_sparse(dense(6, 1, std::vector<float>(6, 0.1f)))}) {
    const auto p = fit_linear(features, targets, first(6), 1, kLong)->predict(features);
    EXPECT_NEAR(p[0], 1.0 / 6, 1e-8);
    EXPECT_NEAR(p[1], 2.0 / 6, 1e-8);
    EXPECT_NEAR(p[2], 3.0 / 6, 1e-8);
  }
}

TEST(LinearModel, NothingWhenTimeIsUp) {
  const Problem problem = drawn(100, 10, 3, 1);
  EXPECT_FALSE(fit_linear(problem.features, class_targets(problem.classes), first(90), 1, 0.0));
  EXPECT_FALSE(fit_linear(problem.features, class_targets(problem.classes), Split{first(50), {60}, {}}, 0.0));
}

template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LinearModel, ErrorsSayWhatIsWrong) {
  const Features features = dense(2, 1, {0, 1});
  const Targets targets = class_targets({0, 1});
  EXPECT_THAT(error_of([&] { fit_linear(features, targets, {}, 1, kLong); }),
              HasSubstr("no training node has a target"));
  EXPECT_THAT(error_of([&] { fit_linear(features, Targets{}, first(2), 1, kLong); }),
              HasSubstr("there are no targets"));
  EXPECT_THAT(error_of([&] {
                fit_linear(features, class_targets({0, 1, 0}), first(2), 1, kLong);
              }),
              HasSubstr("features of 2 nodes and targets of 3"));
  EXPECT_THAT(error_of([&] { fit_linear(features, targets, first(2), 0, kLong); }),
              HasSubstr("the strength is 0, expected more than 0"));
  for (const float bad : {NAN, INFINITY}) {
    EXPECT_THAT(error_of([&] {
                  fit_linear(dense(2, 2, {0, 1, 1, bad}), targets, first(2), 1, kLong);
                }),
                HasSubstr("feature 1 of a training node is not a finite number"));
    EXPECT_THAT(error_of([&] {
                  fit_linear(as_sparse(dense(2, 2, {0, 1, 1, bad})), targets, first(2), 1, kLong);
                }),
                HasSubstr("feature 1 of a training node is not a finite number"));
  }
  const auto model = fit_linear(features, targets, first(2), 1, kLong);
  EXPECT_THAT(error_of([&] {
                model->predict(dense(1, 2, {0, 0}));
              }),
              HasSubstr("fitted to 1 features, and there are 2"));
}

TEST(TrivialModel, SharesAndMeansOfTheTrainingNodes) {
  const TrivialModel classes = fit_trivial(class_targets({0, 2, 2, -1, 1, 2}), first(5));
  EXPECT_THAT(classes.row, testing::ElementsAre(0.25, 0.25, 0.5));
  EXPECT_THAT(classes.predict(2), testing::ElementsAre(0.25, 0.25, 0.5, 0.25, 0.25, 0.5));
  const Targets labels = values_of(Task::kMultiLabel, 2, {1, kNan, 0, 1, 0, kNan, 1, 0});
  EXPECT_THAT(fit_trivial(labels, first(3)).row, testing::ElementsAre(1.0 / 3, 1));
  const Targets values = values_of(Task::kRegression, 2, {1, kNan, 4, kNan});
  EXPECT_THAT(fit_trivial(values, first(2)).row, testing::ElementsAre(2.5, testing::IsNan()));
  EXPECT_THAT(error_of([&] { fit_trivial(labels, {}); }), HasSubstr("no training node has a target"));
}

}  // namespace
}  // namespace qw
