#include "qw/learn/certainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/json.h"
#include "qw/core/error.h"
#include "qw/learn/metrics.h"
#include "qw/metrics/calibration.h"
#include "qw/metrics/conformal.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFewestForTemperature = 20;
constexpr int64_t kMostKept = 10'000;
constexpr int kCalibrationSchema = 1;

std::vector<int32_t> classes_of(const Targets& targets, std::span<const NodeId> nodes) {
  std::vector<int32_t> classes;
  for (const NodeId node : nodes) classes.push_back(targets.classes[node]);
  return classes;
}

std::vector<double> values_of(const Targets& targets, std::span<const NodeId> nodes) {
  std::vector<double> values;
  for (const NodeId node : nodes) {
    const auto row = targets.values.begin() + node * targets.width;
    values.insert(values.end(), row, row + targets.width);
  }
  return values;
}

double temperature_of(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  if (targets.task == Task::kRegression || nodes.size() < kFewestForTemperature) return 1;
  const std::vector<double> logits = logits_of(targets.task, nodes, targets.width, scores);
  const double fitted = targets.task == Task::kClassification
                            ? fit_temperature(logits, targets.width, classes_of(targets, nodes))
                            : fit_label_temperature(logits, values_of(targets, nodes));
  return fitted <= kLeastTemperature ? 1 : fitted;  // all are right: how sure to be cannot be known
}

// Lists of strangeness that a task has.
int64_t list_count(Task task, int64_t width) {
  return task == Task::kClassification ? 1 : task == Task::kMultiLabel ? 2 * width : width;
}

}  // namespace

std::vector<double> calibrated(Task task, std::span<const NodeId> nodes, int64_t width, const Scores& scores,
                               double temperature) {
  std::vector<double> rows = logits_of(task, nodes, width, scores);
  if (task == Task::kRegression) return rows;
  return task == Task::kClassification ? softmax_rows(rows, width, temperature) : sigmoids(rows, temperature);
}

namespace {

Calibration calibrate_at(double temperature, const Targets& targets, std::span<const NodeId> validation,
                         const Scores& scores) {
  Calibration calibration;
  calibration.temperature = temperature;
  const int64_t width = targets.width;
  const std::vector<double> predicted =
      calibrated(targets.task, validation, width, scores, calibration.temperature);
  const auto keep = [&](std::vector<double> strangeness) {
    calibration.strangeness.push_back(thinned(std::move(strangeness), kMostKept));
  };
  if (targets.task == Task::kClassification) {
    keep(class_scores(predicted, width, classes_of(targets, validation)));
    return calibration;
  }
  const std::vector<double> truth = values_of(targets, validation);
  for (int64_t column = 0; column < width; ++column) {
    if (targets.task == Task::kRegression) {
      keep(value_scores(predicted, truth, width, column));
    } else {
      keep(label_scores(predicted, truth, width, column, 0));
      keep(label_scores(predicted, truth, width, column, 1));
    }
  }
  return calibration;
}

}  // namespace

Calibration calibrate(const Targets& targets, std::span<const NodeId> validation, const Scores& scores) {
  return calibrate_at(temperature_of(targets, validation, scores), targets, validation, scores);
}

Calibration calibrate_sets(const Targets& targets, std::span<const NodeId> validation, const Scores& scores) {
  return calibrate_at(1, targets, validation, scores);
}

nlohmann::ordered_json to_json(const Calibration& calibration) {
  return {{"schema", kCalibrationSchema},
          {"temperature", calibration.temperature},
          {"strangeness", calibration.strangeness}};
}

Calibration calibration_from_json(const nlohmann::ordered_json& json, const std::string& file) {
  Calibration calibration;
  try {
    if (json.at("schema") != kCalibrationSchema) {
      fail(fmt::format("{}: schema {} is not the {} that this qw reads", file, json_text(json.at("schema")),
                       kCalibrationSchema));
    }
    calibration.temperature = json.at("temperature").get<double>();
    calibration.strangeness = json.at("strangeness").get<std::vector<std::vector<double>>>();
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: is no calibration of a run", file));
  }
  const bool sorted = std::all_of(calibration.strangeness.begin(), calibration.strangeness.end(),
                                  [](const auto& list) { return std::is_sorted(list.begin(), list.end()); });
  if (!(calibration.temperature > 0) || !std::isfinite(calibration.temperature) || !sorted)
    fail(fmt::format("{}: is no calibration of a run", file));
  return calibration;
}

PredictionSets::PredictionSets(Task task, int64_t width, const Calibration& calibration, double coverage)
    : width_(width), coverage_(coverage) {
  // Validation nodes stand at the threshold itself: the rounding of another order of nodes must not put them
  // out of their sets.
  const double slack = task == Task::kRegression ? 0.0 : 1e-6;
  for (int64_t list = 0; list < list_count(task, width); ++list) {
    const bool known = list < static_cast<int64_t>(calibration.strangeness.size());
    thresholds_.push_back(
        conformal_threshold(known ? calibration.strangeness[list] : std::vector<double>(), coverage) + slack);
  }
}

bool PredictionSets::informative() const {
  return std::any_of(thresholds_.begin(), thresholds_.end(), [](double each) { return std::isfinite(each); });
}

std::vector<char> PredictionSets::classes(std::span<const double> probability) const {
  return class_sets(probability, width_, thresholds_.front());
}

std::pair<bool, bool> PredictionSets::label(int64_t label, double probability) const {
  const LabelSet set = label_set(probability, thresholds_[2 * label], thresholds_[2 * label + 1]);
  return {set.zero, set.one};
}

MeasuredCoverage measure_coverage(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                                  const Calibration& calibration, const PredictionSets& sets) {
  const int64_t width = targets.width;
  const std::vector<double> predicted =
      calibrated(targets.task, nodes, width, scores, calibration.temperature);
  double held = 0, size = 0, all = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::span<const double> row(predicted.data() + i * width, width);
    if (targets.task == Task::kClassification) {
      const std::vector<char> set = sets.classes(row);
      held += set[targets.classes[nodes[i]]];
      size += static_cast<double>(std::count(set.begin(), set.end(), 1));
      all += 1;
      continue;
    }
    for (int64_t column = 0; column < width; ++column) {
      const double truth = targets.values[nodes[i] * width + column];
      if (std::isnan(truth)) continue;
      all += 1;
      if (targets.task == Task::kRegression) {
        held += std::abs(row[column] - truth) <= sets.half_width(column);
        size += 2 * sets.half_width(column);
      } else {
        const auto [zero, one] = sets.label(column, row[column]);
        held += truth > 0.5 ? one : zero;
        size += zero + one;
      }
    }
  }
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  return all > 0 ? MeasuredCoverage{held / all, size / all} : MeasuredCoverage{kNothing, kNothing};
}

}  // namespace qw
