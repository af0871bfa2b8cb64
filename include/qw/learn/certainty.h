// How sure predictions are: a temperature that makes probabilities honest, and conformal sets and intervals
// (qw/metrics/calibration.h, qw/metrics/conformal.h), both learned from the validation nodes of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/targets.h"
#include "qw/learn/learner.h"

namespace QW_PUBLIC qw {

// What the validation nodes say.
struct Calibration {
  double temperature = 1;  // of classes and labels
  // How strange the truth of the validation nodes looked, ascending and at most 10,000 of each: one list for
  // classes, one for each column of values, two for each label (of nodes without and with it).
  std::vector<std::vector<double>> strangeness;
};

// The temperature stays 1 with fewer than 20 validation nodes, and where all of them are right.
Calibration calibrate(const Targets& targets, std::span<const NodeId> validation, const Scores& scores);
// Of what is calibrated already, as the mean of several runs: the temperature is 1.
Calibration calibrate_sets(const Targets& targets, std::span<const NodeId> validation, const Scores& scores);

// The contents of calibration.json.
nlohmann::ordered_json to_json(const Calibration& calibration);
// Throws qw::Error that begins with `file` on what is no calibration.
Calibration calibration_from_json(const nlohmann::ordered_json& json, const std::string& file);

// Probabilities [n * width] of these nodes at a temperature; for values, the values.
std::vector<double> calibrated(Task task, std::span<const NodeId> nodes, int64_t width, const Scores& scores,
                               double temperature);

// Sets and intervals of a coverage.
class PredictionSets {
 public:
  // Throws qw::UsageError unless 0 < coverage < 1.
  PredictionSets(Task task, int64_t width, const Calibration& calibration, double coverage);

  // As it was asked for.
  double coverage() const { return coverage_; }
  // No: the validation nodes are too few for this coverage, and every set holds everything.
  bool informative() const;

  // [width] of a row of calibrated() of classes: whether the class is in the set.
  std::vector<char> classes(std::span<const double> probability) const;
  // Half the width of the interval around a value.
  double half_width(int64_t column) const { return thresholds_[column]; }
  // Whether 0 and 1 are in the set of a label.
  std::pair<bool, bool> label(int64_t label, double probability) const;

 private:
  int64_t width_;
  double coverage_;
  std::vector<double> thresholds_;
};

// How often sets hold the truth, and how large they are: classes and 0/1 labels in a set, or the width of an
// interval, on average. NaN where there is nothing to measure.
struct MeasuredCoverage {
  double coverage = 0;  // share of the nodes
  double size = 0;      // mean
};
MeasuredCoverage measure_coverage(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                                  const Calibration& calibration, const PredictionSets& sets);

}  // namespace qw
