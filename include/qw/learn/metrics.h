// How good the scores of a training are: the metrics of qw/metrics/metrics.h on the nodes of a data set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/targets.h"
#include "qw/learn/learner.h"
#include "qw/metrics/metrics.h"

namespace QW_PUBLIC qw {

// Names and values, in the order to show them; the first is the one that counts.
using Metrics = std::vector<std::pair<std::string, double>>;

// How well one class is found.
struct ClassRow {
  std::string name;      // of the class or label
  int64_t nodes = 0;     // of this class, or with this label
  double precision = 0;  // 0 where nothing was predicted
  double recall = 0;     // 0 where there is none
  double f1 = 0;         // 2 TP / (2 TP + FP + FN)
};

// The metrics of a task; the first is its default: accuracy for classes, mean F1 over labels, R2 for values.
const std::vector<MetricInfo>& metrics_of(Task task);
// By name, "auto" being the default; throws qw::UsageError that lists the task's own.
const MetricInfo& find_metric(Task task, std::string_view name);

// Whether more is better in a metric of any task; "auto": yes.
bool higher_is_better(std::string_view metric);

// What is measured, and how scores become probabilities.
struct MeasureOptions {
  std::string metric = "auto";  // the one that counts
  double temperature = 1;       // by which scores are divided before they become probabilities
};
// Of the sum of both scores, on `nodes` (those with a label count). NaN where there is nothing to measure.
Metrics measure(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                const MeasureOptions& options = {});
// One of them, for every epoch. Values count in these units, column by column, or in their own.
double measure_one(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                   const MetricInfo& metric, std::span<const double> units = {});
// One row for each class or label; empty for values.
std::vector<ClassRow> by_class(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores);

// Scores of these nodes as numbers, row by row [n * width]: logits of classes and labels (of probabilities,
// their logarithms), values as they are.
std::vector<double> logits_of(Task task, std::span<const NodeId> nodes, int64_t width, const Scores& scores);

// Mean and spread over runs. `std` is that of a sample (0 for one run); `ci95` the half width of a 95 %
// bootstrap interval of the mean (1000 draws), which is the +- of the published tables. All are NaN when one
// of the runs is, or when there is none.
struct Summary {
  double mean = 0;  // over the runs
  double std = 0;   // of a sample
  double ci95 = 0;  // half width
};
Summary summarise(const std::vector<double>& runs);

}  // namespace qw
