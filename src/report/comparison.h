// Trainings beside the first of them, pair by pair: what `qw compare` prints and a report draws.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/report/paired.h"
#include "report/run_summary.h"

namespace qw {

struct ComparedMetric {
  std::string name;
  std::string part;  // "train", "val" or "test"

  bool higher_is_better() const;
  bool is_share() const;
  double scale() const { return is_share() ? 100 : 1; }  // shares are shown as percent
  const char* unit() const { return is_share() ? " points" : ""; }
};

struct ComparedRun {
  size_t run = 0;  // place in RunComparison::runs
  PairedComparison result;
  bool by_nodes = false;  // pairs are nodes of one run; else seeds
};

struct RunComparison {
  std::vector<RunSummary> runs;
  ComparedMetric metric;
  std::vector<ComparedRun> others;  // runs 1, 2, ... beside run 0

  const MetricSummary& values(const RunSummary& run) const;  // of the metric
};

// An empty metric is the one that counted in the first training. Throws qw::Error when folders are no
// finished trainings or cannot be paired, and qw::UsageError when one has no such metric.
RunComparison compare_runs(const std::vector<std::filesystem::path>& folders, const std::string& metric = {},
                           const std::string& part = "test");

// What tells a run apart from the others: its solver, its model, or both.
std::string method_of(const RunComparison& comparison, const RunSummary& run);
// "bregman (runs/qw) helps here by 4.0 +- 1.3 points over ce (runs/ce): 4 wins of 4"
std::string sentence(const RunComparison& comparison, const ComparedRun& compared);
// "  3 pairs: a has 3 seeds, b has 10", where seeds are left over; else "".
std::string unpaired_seeds(const RunComparison& comparison, const ComparedRun& compared);

// The table: a header, and a row for each run.
std::vector<std::string> comparison_header(const RunComparison& comparison);
std::vector<std::vector<std::string>> comparison_rows(const RunComparison& comparison);

// What is known of the data that makes differences doubtful.
std::vector<std::string> comparison_warnings(const RunComparison& comparison);

}  // namespace qw
