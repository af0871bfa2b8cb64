// How good predictions are: plain arrays in, one number out.
//
// The values are those of scikit-learn (with sample weights), to rounding; docs/metrics.md has every formula.
// A node of weight 0 does not count at all. A metric is NaN where there is nothing to measure, and where a
// probability or value it needs is NaN. Arrays whose sizes disagree, classes outside [0, classes) and weights
// that are negative or not finite throw qw::Error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// One class per node.
struct ClassPredictions {
  int64_t classes = 0;                  // how many there are
  std::span<const int32_t> truth;       // [n], in [0, classes)
  std::span<const int32_t> predicted;   // [n], in [0, classes)
  std::span<const double> probability;  // [n * classes], rows that sum to about 1; empty where unknown
  std::span<const double> weights;      // [n]; empty: all 1
};

// Several 0/1 labels per node.
struct LabelPredictions {
  int64_t labels = 0;                   // per node
  std::span<const double> truth;        // [n * labels], 0 or 1; NaN: unknown, the entry does not count
  std::span<const char> predicted;      // [n * labels], 0 or 1
  std::span<const double> probability;  // [n * labels], of each label to be 1; empty where unknown
  std::span<const double> weights;      // [n]; empty: all 1
};

// Real values.
struct ValuePredictions {
  int64_t columns = 1;                // values per node
  std::span<const double> truth;      // [n * columns]; NaN: unknown, the entry does not count
  std::span<const double> predicted;  // [n * columns]
  std::span<const double> weights;    // [n]; empty: all 1
};

// An entry of the lists of metrics.
struct MetricInfo {
  std::string name;                  // as in docs/metrics.md
  std::string summary;               // one line
  bool higher_is_better = true;      // else lower
  bool needs_probabilities = false;  // predicted classes or labels are not enough
  bool is_share = false;             // in [0, 1], and shown as a percentage
};

// accuracy, balanced_accuracy, macro_f1, weighted_f1, micro_f1, roc_auc, average_precision, log_loss, brier,
// ece.
const std::vector<MetricInfo>& class_metrics();
// macro_f1, micro_f1, weighted_f1, accuracy, roc_auc, average_precision, log_loss, brier, ece.
const std::vector<MetricInfo>& label_metrics();
// r2, rmse, mse, mae, median_ae.
const std::vector<MetricInfo>& value_metrics();

// The metric of any task that is called so, or nullptr. Metrics of one name mean the same in every task.
const MetricInfo* metric_named(std::string_view name);

// Throw qw::UsageError when the name is unknown, and when the metric needs probabilities and there are none.
double class_metric(std::string_view name, const ClassPredictions& predictions);
double label_metric(std::string_view name, const LabelPredictions& predictions);
double value_metric(std::string_view name, const ValuePredictions& predictions);

}  // namespace qw
