// fit_best as a whole: the same result every time and after any interruption, in the time, and a folder like
// any other.
#include "qw/study/fit_best.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "core/json.h"
#include "qw/learn/ensemble.h"
#include "qw/learn/fit.h"
#include "qw/learn/run.h"
#include "study/study.h"

namespace qw {
namespace {

using test::Json;

Dataset small_data(double homophily = 0.9) {
  CsbmOptions csbm;
  csbm.nodes = 120;
  csbm.degree = 6;
  csbm.features = 8;
  csbm.classes = 3;
  csbm.homophily = homophily;
  return make_csbm(csbm);
}

Json without_time(const FitBestResult& result) {
  Json json = to_json(result);
  json.erase("seconds");
  return json;
}

TEST(FitBest, TrialsGiveTheSameResultAfterAnyInterruption) {
  const Dataset data = small_data();
  const FitBestOptions asked{.trials = 22, .seed = 4};
  const test::TemporaryFolder whole, pieces;
  const Json expected = without_time(fit_best(data, asked, whole.path()));
  EXPECT_EQ(expected.at("trials"), 22);
  int calls = 0;
  std::optional<Json> result;
  for (; !result && calls < 200; ++calls) {
    FitBestOptions stopped = asked;
    int left = 1 + (7 * calls) % 23;  // looks
    stopped.progress = [&](const FitProgress&) { return --left > 0 || calls > 60; };
    try {
      result = without_time(fit_best(data, stopped, pieces.path()));
    } catch (const TrainingStopped&) {  // again
    }
  }
  EXPECT_GT(calls, 20);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, expected);
}

// Features with noise, and labels of few nodes: the more labels, the better.
TEST(FitBest, TheLearningCurveRises) {
  CsbmOptions csbm;
  csbm.nodes = 600;
  csbm.features = 16;
  csbm.signal = 0.6;
  csbm.homophily = 0.25;
  csbm.classes = 4;
  const Dataset data = make_csbm(csbm);
  const test::TemporaryFolder folder;
  const FitBestResult result =
      fit_best(data, {.trials = 60, .split = "stratified:train=0.15,val=0.15", .seed = 1}, folder.path());
  ASSERT_EQ(result.learning_curve.size(), 3u);
  const auto& [few, half, all] =
      std::tie(result.learning_curve[0], result.learning_curve[1], result.learning_curve[2]);
  EXPECT_NEAR(static_cast<double>(few.labels) / static_cast<double>(all.labels), 0.25, 0.05);
  EXPECT_NEAR(static_cast<double>(half.labels) / static_cast<double>(all.labels), 0.5, 0.05);
  EXPECT_GT(all.score, few.score);
  const FitVerdict& verdict = result.verdicts.back();
  EXPECT_EQ(verdict.question, "would more labels help?");
  EXPECT_NEAR(verdict.difference, all.score - half.score, 1e-9);
}

TEST(FitBest, AFolderIsReadLikeAnyOther) {
  const Dataset data = small_data();
  const test::TemporaryFolder folder;
  const FitBestResult result = fit_best(data, {.trials = 14, .seed = 2}, folder.path());
  const EnsembleMembers members = read_members(folder.path()).value();
  const Fitted fitted = load_fitted(folder.path());
  const NodePredictions predicted = fitted.predict(data);
  ASSERT_EQ(predicted.classes.size(), 120u);
  // The mean of the members' calibrated probabilities.
  const TrainingMemory memory = read_memory(folder.path());
  std::vector<NodeId> all(120);
  for (NodeId node = 0; node < 120; ++node) all[node] = node;
  std::vector<double> mean(360, 0.0);
  double weights = 0;
  for (size_t k = 0; k < members.runs.size(); ++k) {
    const Reloaded reloaded =
        reload(folder.path() / ("run-" + std::to_string(members.runs[k])), fitted.request(), memory, data);
    const std::vector<double> one =
        calibrated(Task::kClassification, all, 3, reloaded.scores, reloaded.calibration.temperature);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += members.weights[k] * one[i];
    weights += members.weights[k];
  }
  EXPECT_NEAR(weights, 1, 1e-12);
  for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(predicted.values[i], mean[i], 1e-9);
  // What is reported for the test nodes is what the folder predicts for them.
  int right = 0;
  const std::vector<NodeId>& test = memory.trained_on.splits[0].test;
  for (const NodeId node : test) right += predicted.classes[node] == data.targets.classes[node];
  EXPECT_NEAR(result.test.at(0).second, static_cast<double>(right) / static_cast<double>(test.size()), 1e-12);
  EXPECT_THAT([&] { fit_best(data, {.trials = 2, .seed = 2}, folder.path()); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("is finished already")));
}

// Of 240 test nodes, 90 % with a standard error of 2 points.
TEST(FitBest, SetsHoldTheTruthAsOftenAsTheySay) {
  CsbmOptions csbm;
  csbm.nodes = 600;
  csbm.degree = 6;
  csbm.features = 8;
  csbm.classes = 4;
  csbm.homophily = 0.6;
  csbm.signal = 0.5;
  const test::TemporaryFolder folder;
  const FitBestResult result = fit_best(
      make_csbm(csbm), {.trials = 24, .split = "stratified:train=0.4,val=0.2", .seed = 5}, folder.path());
  EXPECT_GT(result.certainty.coverage, 0.83);
  EXPECT_LT(result.certainty.size, 3.5);
  EXPECT_GE(result.certainty.size, 0.9);
  const nlohmann::ordered_json coverage = read_json(folder.path() / "summary.json").at("coverage");
  EXPECT_DOUBLE_EQ(coverage.at("test").at("mean").get<double>(), result.certainty.coverage);
}

TEST(FitBest, OtherOptionsDoNotGoOnInAFolder) {
  const Dataset data = small_data();
  const test::TemporaryFolder folder;
  FitBestOptions options{.trials = 5, .seed = 2};
  int looks = 3;
  options.progress = [&](const FitProgress&) { return --looks > 0; };
  EXPECT_THROW(fit_best(data, options, folder.path()), TrainingStopped);
  EXPECT_THAT([&] { fit_best(data, {.trials = 5, .seed = 3}, folder.path()); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("was made with other options")));
  for (const FitBestOptions& other :
       {FitBestOptions{.trials = 6, .seed = 2}, FitBestOptions{.seconds = 9, .seed = 2}}) {
    EXPECT_THAT([&] { fit_best(data, other, folder.path()); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("was made with other options")));
  }
  Dataset changed = data;
  changed.targets.classes[0] = (changed.targets.classes[0] + 1) % 3;
  options.progress = {};
  EXPECT_THAT([&] { fit_best(changed, options, folder.path()); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the data changed since it began")));
}

TEST(FitBest, AFinishedFolderKeepsItsSets) {
  const Dataset data = small_data();
  const test::TemporaryFolder folder;
  const FitBestResult result = fit_best(data, {.trials = 3, .seed = 2}, folder.path());
  EXPECT_EQ(fit_best(data, {.trials = 3, .seed = 2}, folder.path()).validation, result.validation);
  EXPECT_EQ(test::error_of([&] { fit_best(data, {.trials = 3, .seed = 2, .coverage = 0.6}, folder.path()); }),
            fmt::format("{0} is finished, with sets for a coverage of 0.9; qw predict {0} --coverage 0.6 "
                        "gives others",
                        folder.path().string()));
}

TEST(FitBest, LittleTimeGivesAResult) {
  const Dataset data = small_data();
  const test::TemporaryFolder folder;
  const FitBestResult result = fit_best(data, {.seconds = 0.5}, folder.path());
  EXPECT_GE(result.trials, 1);
  EXPECT_FALSE(result.test.empty());
}

TEST(FitBest, LearnsValuesAndSeveralLabels) {
  Dataset data = small_data();
  std::vector<double> values(120);
  for (int i = 0; i < 120; ++i) values[i] = data.targets.classes[i] + 0.01 * i;
  data.targets = value_targets(values);
  data.splits.clear();
  const test::TemporaryFolder folder, other;
  const FitBestResult of_values = fit_best(data, {.trials = 8}, folder.path());
  EXPECT_EQ(of_values.validation.at(0).first, "r2");
  EXPECT_GT(of_values.test.at(0).second, 0.3);
  std::vector<double> labels(240);
  for (int i = 0; i < 120; ++i) labels[2 * i] = i % 3 == 0, labels[2 * i + 1] = values[i] > 1;
  data.targets.task = Task::kMultiLabel;
  data.targets.width = 2;
  data.targets.values = labels;
  data.targets.names = {"a", "b"};
  EXPECT_EQ(fit_best(data, {.trials = 6}, other.path()).validation.at(0).first, "macro_f1");
}

// R2 of one value is none.
TEST(FitBest, WhatCannotBeMeasuredIsALine) {
  Dataset data = small_data();
  data.targets = value_targets(std::vector<double>(120, 3.0));
  data.splits.clear();
  const test::TemporaryFolder folder;
  EXPECT_THAT(test::error_of([&] { fit_best(data, {.trials = 3}, folder.path()); }),
              ::testing::StartsWith("no training went well: "));
}

TEST(FitBest, DataWithoutLabelsIsRefused) {
  Dataset data = small_data();
  data.targets = {};
  const test::TemporaryFolder folder;
  EXPECT_THROW(fit_best(data, {.trials = 2}, folder.path()), Error);
}

}  // namespace
}  // namespace qw
