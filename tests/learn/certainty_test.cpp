#include "qw/learn/certainty.h"

#include <gmock/gmock.h>

#include <numeric>

#include "core/file.h"
#include "learn/problem.h"
#include "qw/core/error.h"
#include "qw/learn/baselines.h"
#include "qw/learn/ensemble.h"
#include "qw/learn/metrics.h"
#include "qw/learn/predictions.h"
#include "qw/metrics/calibration.h"

namespace qw {
namespace {

using nlohmann::ordered_json;

Scores scores_of(const std::vector<double>& rows, int64_t width) {
  return {at::tensor(rows, at::kDouble).reshape({-1, width}), at::empty({0}, at::kDouble)};
}

std::vector<NodeId> first_nodes(NodeId count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

// Two classes, logits of +-2; of 40 nodes 30 are right: the best temperature makes them 3/4 sure.
TEST(Calibrate, MakesProbabilitiesWhatTheyShouldBe) {
  std::vector<double> rows;
  std::vector<int32_t> truth;
  for (int node = 0; node < 40; ++node) {
    rows.insert(rows.end(), {node % 2 == 0 ? 2.0 : -2.0, 0.0});
    const int32_t predicted = node % 2 == 0 ? 0 : 1;
    truth.push_back(node % 4 == 3 ? 1 - predicted : predicted);
  }
  const Targets targets = class_targets(truth);
  const Scores scores = scores_of(rows, 2);
  const Calibration calibration = calibrate(targets, first_nodes(40), scores);
  EXPECT_NEAR(calibration.temperature, 2 / std::log(3.0), 1e-8);
  const std::vector<double> sure =
      calibrated(Task::kClassification, first_nodes(2), 2, scores, calibration.temperature);
  EXPECT_NEAR(sure[0], 0.75, 1e-9);
  EXPECT_NEAR(sure[3], 0.75, 1e-9);
  EXPECT_EQ(calibration.strangeness.size(), 1U);
  EXPECT_EQ(calibration.strangeness[0].size(), 40U);
}

TEST(Calibrate, LeavesTheTemperatureWhereLittleIsKnown) {
  const Targets right = class_targets(std::vector<int32_t>(40, 0), {"a", "b"});
  std::vector<double> rows;
  for (int node = 0; node < 40; ++node) rows.insert(rows.end(), {1.0, 0.0});
  EXPECT_EQ(calibrate(right, first_nodes(40), scores_of(rows, 2)).temperature, 1) << "all are right";
  Targets few = right;
  few.classes[0] = 1;
  EXPECT_EQ(calibrate(few, first_nodes(19), scores_of(rows, 2)).temperature, 1) << "too few nodes";
  EXPECT_NE(calibrate(few, first_nodes(20), scores_of(rows, 2)).temperature, 1);
  const Calibration nothing = calibrate(right, {}, scores_of(rows, 2));
  EXPECT_FALSE(PredictionSets(Task::kClassification, 2, nothing, 0.9).informative());
}

TEST(Calibrate, SurvivesItsFile) {
  const Calibration calibration{1.25, {{0.1, 0.5}, {0.25}}};
  const Calibration again = calibration_from_json(to_json(calibration), "c.json");
  EXPECT_EQ(again.temperature, 1.25);
  EXPECT_EQ(again.strangeness, calibration.strangeness);
  const auto refusal = [](const ordered_json& json) {
    return test::error_of([&] { calibration_from_json(json, "c.json"); });
  };
  EXPECT_EQ(refusal(ordered_json::array()), "c.json: is no calibration of a run");
  EXPECT_EQ(refusal({{"schema", 1}, {"temperature", -1}, {"strangeness", ordered_json::array()}}),
            "c.json: is no calibration of a run");
  EXPECT_EQ(refusal({{"schema", 1}, {"temperature", 1}, {"strangeness", {{2, 1}}}}),
            "c.json: is no calibration of a run");
  EXPECT_EQ(refusal({{"schema", 9}}), "c.json: schema 9 is not the 1 that this qw reads");
}

// Half of the nodes calibrate and half test, over many draws: what is asked for is what comes out.
TEST(PredictionSets, HoldTheTruthAsOftenAsAsked) {
  const RandomStream stream(5, 11);
  for (const double coverage : {0.8, 0.9}) {
    double classes = 0, values = 0;
    constexpr int kDraws = 200;
    constexpr NodeId kNodes = 200;
    for (uint64_t draw = 0; draw < kDraws; ++draw) {
      std::vector<double> logits, predictions, truths;
      std::vector<int32_t> truth;
      for (uint64_t node = 0; node < kNodes; ++node) {
        const uint64_t at = 8 * (draw * kNodes + node);
        std::vector<double> row;
        for (uint64_t c = 0; c < 3; ++c) row.push_back(2 * stream.normal(at + c));
        const std::vector<double> chance = softmax_rows(row, 3);
        const double u = stream.uniform(at + 4);
        truth.push_back(u < chance[0] ? 0 : u < chance[0] + chance[1] ? 1 : 2);
        logits.insert(logits.end(), row.begin(), row.end());
        predictions.push_back(stream.normal(at + 5));
        truths.push_back(predictions.back() + stream.normal(at + 6));
      }
      const std::vector<NodeId> all = first_nodes(kNodes);
      const std::span<const NodeId> calibrates(all.data(), 100), tests(all.data() + 100, 100);
      const auto measured = [&](const Targets& targets, const Scores& scores) {
        const Calibration calibration = calibrate(targets, calibrates, scores);
        const PredictionSets sets(targets.task, targets.width, calibration, coverage);
        return measure_coverage(targets, tests, scores, calibration, sets).coverage;
      };
      classes += measured(class_targets(truth), scores_of(logits, 3)) / kDraws;
      values += measured(value_targets(truths), scores_of(predictions, 1)) / kDraws;
    }
    EXPECT_NEAR(classes, coverage, 0.01);
    EXPECT_NEAR(values, coverage, 0.01);
  }
}

Dataset two_nodes() {
  Dataset data;
  data.graph = Graph::build(test::edge_list(2, {{0, 1}}));
  data.node_ids = {"a,b", "c"};
  data.targets = class_targets({0, -1}, {"no", "yes"});
  return data;
}

TEST(Predictions, HaveTheOwnIdsTheSetsAndBothParts) {
  const Dataset data = two_nodes();
  const Scores scores{at::tensor({0.0f, 0.0f, 2.0f, 0.0f}).reshape({2, 2}),
                      at::tensor({1.0f, 0.0f, -1.0f, 1.0f}).reshape({2, 2})};
  const Calibration calibration{1, {{0.1, 0.2, 0.6}}};
  const std::optional<PredictionSets> sets(std::in_place, Task::kClassification, 2, calibration, 0.7);
  const std::vector<NodePart> parts{NodePart::kTrain, NodePart::kNew};
  const Predictions predictions(data, data.targets, scores, calibration, sets, parts);
  EXPECT_EQ(predictions.csv(),
            "id,prediction,confidence,set,probability no,probability yes,label,part,network no,network "
            "yes,transport no,transport yes\n"
            "\"a,b\",no,0.731058579,no,0.731058579,0.268941421,no,train,0,0,1,0\n"
            "c,no,0.5,no|yes,0.5,0.5,,new,2,0,-1,1\n");
  const ordered_json rows = predictions.json();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("id"), "a,b");
  EXPECT_EQ(rows[0].at("label"), "no");
  EXPECT_EQ(rows[1].at("label"), nullptr);
  EXPECT_EQ(rows[1].at("part"), "new");
  EXPECT_EQ(rows[1].at("transport yes"), 1.0);
}

TEST(Predictions, OfValuesHaveIntervals) {
  Dataset data = two_nodes();
  data.targets = value_targets({1.25, NAN}, {"income"});
  const Scores scores{at::tensor({1.5f, 2.5f}).reshape({2, 1}), at::empty({0})};
  const Calibration calibration{1, {{0.5, 1.0}}};
  const std::vector<NodePart> parts(2, NodePart::kNone);
  const std::optional<PredictionSets> sets(std::in_place, Task::kRegression, 1, calibration, 0.6);
  EXPECT_EQ(Predictions(data, data.targets, scores, calibration, sets, parts).csv(),
            "id,prediction,low,high,label,part,network income,transport income\n"
            "\"a,b\",1.5,0.5,2.5,1.25,,1.5,0\n"
            "c,2.5,1.5,3.5,,,2.5,0\n");
  const std::optional<PredictionSets> none(std::in_place, Task::kRegression, 1, calibration, 0.9);
  EXPECT_THAT(Predictions(data, data.targets, scores, calibration, none, parts).csv(),
              testing::StartsWith("id,prediction,label,"))
      << "two nodes allow no 90 %";
}

TEST(Predictions, OfLabelsSayWhichMayBeMissing) {
  Dataset data = two_nodes();
  data.targets = {Task::kMultiLabel, 2, {}, {1, 1, 0, 0}, {"x", "y"}};
  const Scores scores{at::tensor({3.0f, -3.0f, 0.1f, -0.1f}).reshape({2, 2}), at::empty({0})};
  const Calibration calibration{1, {{0.1, 0.6}, {0.1, 0.6}, {0.1, 0.6}, {0.1, 0.6}}};
  const std::vector<NodePart> parts(2, NodePart::kTest);
  const std::optional<PredictionSets> sets(std::in_place, Task::kMultiLabel, 2, calibration, 0.6);
  const std::string csv = Predictions(data, data.targets, scores, calibration, sets, parts).csv();
  EXPECT_THAT(csv, testing::HasSubstr("\n\"a,b\",x,0.952574127,x,0.952574127,0.0474258732,x|y,test,"));
  EXPECT_THAT(csv, testing::HasSubstr("\nc,x,0.524979188,x?|y?,"));
}

TEST(Baselines, AreMajorityAndLogisticRegression) {
  Dataset data;
  std::vector<float> features;
  std::vector<int32_t> classes;
  const RandomStream stream(3, 2);
  for (uint64_t node = 0; node < 90; ++node) {
    classes.push_back(node % 3 == 0 ? 1 : 0);
    features.push_back(static_cast<float>(classes.back() + 0.2 * stream.normal(node)));
  }
  data.graph = Graph::build(test::edge_list(90, {}));
  data.features = {90, 1, false, features, {}, {}, {}, {}};
  data.targets = class_targets(classes);
  const Split split = stratified_split(data.targets, 1);
  const Baselines made = make_baselines(data, split, "balanced_accuracy", 10);
  EXPECT_EQ(made.trivial.test.front(), (std::pair<std::string, double>("balanced_accuracy", 0.5)));
  ASSERT_FALSE(made.linear.test.empty());
  EXPECT_GT(made.linear.test.front().second, 0.9);
  EXPECT_TRUE(make_baselines(data, split, "auto", 0).linear.test.empty()) << "there is no time for it";
  data.targets = value_targets(std::vector<double>(90, 1.5));
  data.targets.values[0] = 3;
  EXPECT_EQ(make_baselines(data, split, "mae", 10).trivial.test.front().first, "mae");
  EXPECT_EQ(trivial_name(Task::kRegression), "mean");
  EXPECT_EQ(trivial_name(Task::kClassification), "majority");
}

}  // namespace
}  // namespace qw
