// What a sweep found, as one HTML page. A study fills these from its store; this module knows no store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/report/report.h"

namespace qw {

// One choice of options, and what its trainings reached.
struct SweptConfig {
  std::vector<std::string> values;       // of SweptSearch::options
  std::vector<double> validation, test;  // one per run by which it is ranked; NaN: failed
  double first_score = 0;                // mean validation metric over the runs that all choices have
};

// A stage of a search: choices that are compared by the same number of runs.
struct SweptStage {
  int64_t runs = 0;
  std::vector<double> seconds;  // of training from the beginning of the search to the end of each choice
  std::vector<double> scores;   // mean validation metric of that choice; NaN: failed
};

struct SweptSearch {
  std::string sweep{}, name{};  // "small", "texas/gcn/qw"
  std::string metric{};
  bool higher_is_better = true;
  bool finished = false;
  std::vector<std::string> options{};  // by which the choices differ
  std::vector<SweptConfig> configs{};  // best first; empty until all have their first runs
  std::vector<SweptStage> stages{};    // in the order in which they are done
};

// How much an option counts: the share of the variance of scores that lies between the means of its values,
// less what chance would give them, 1 - (within / (n - k)) / (all / (n - 1)) for n scores and k values; at
// least 0. Numbers of more than four values are put into four groups of equal size. NaN scores are left out.
double option_importance(std::span<const std::string> values, std::span<const double> scores);

std::string sweep_html(const std::vector<SweptSearch>& searches, const ReportOptions& options = {});

}  // namespace qw
