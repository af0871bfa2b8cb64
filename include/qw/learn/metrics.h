// How good predictions are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qw/graph/targets.h"
#include "qw/learn/learner.h"

namespace qw {

// Names and values, in the order to show them; the first is the one that counts: accuracy for classes, mean
// F1 over labels, R2 for values.
using Metrics = std::vector<std::pair<std::string, double>>;

struct ClassRow {
  std::string name;
  int64_t nodes = 0;     // of this class, or with this label
  double precision = 0;  // 0 where nothing was predicted
  double recall = 0;     // 0 where there is none
  double f1 = 0;
};

// Of the sum of both scores, on `nodes` (those with a label count). Classes: accuracy, macro_f1. Labels:
// macro_f1, micro_f1, accuracy (share of right labels). Values: r2, mse, mae, over all columns together, each
// column's mean being what R2 compares with. NaN where there is nothing to measure.
Metrics measure(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores);
std::vector<ClassRow> by_class(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores);

// Only the first of measure(), for every epoch.
double primary_metric(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores);
std::string primary_metric_name(Task task);

// Mean and spread over runs. `std` is that of a sample (0 for one run); `ci95` the half width of a 95 %
// bootstrap interval of the mean (1000 draws), which is the +- of the published tables. All are NaN when one
// of the runs is, or when there is none.
struct Summary {
  double mean = 0;
  double std = 0;
  double ci95 = 0;
};
Summary summarise(const std::vector<double>& runs);

}  // namespace qw
