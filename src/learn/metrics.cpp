#include "qw/learn/metrics.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/random.h"
#include "qw/metrics/calibration.h"

namespace qw {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastProbability = 1e-12;  // what transport leads out of [0, 1] is cut off here

at::Tensor total(const Scores& scores) { return scores.sum().to(at::kDouble).cpu().contiguous(); }

// Above it a 0/1 label is predicted.
double threshold(const Scores& scores) { return scores.in_label_space ? 0.5 : 0.0; }

int32_t predicted_class(const double* row, int64_t width) {
  return static_cast<int32_t>(std::max_element(row, row + width) - row);
}

// Probabilities as logits that softmax or sigmoid make them of again.
double logit_of(double probability, bool of_one_label) {
  const double certain = std::max(probability, kLeastProbability);
  if (!of_one_label) return std::log(certain);
  return std::log(certain / std::max(1 - certain, kLeastProbability));
}

std::vector<double> gathered(std::span<const NodeId> nodes, int64_t width, const at::Tensor& sums) {
  std::vector<double> rows;
  rows.reserve(nodes.size() * width);
  const auto* numbers = sums.data_ptr<double>();
  for (const NodeId node : nodes)
    rows.insert(rows.end(), numbers + node * width, numbers + (node + 1) * width);
  return rows;
}

void make_logits(std::vector<double>& rows, Task task, const Scores& scores) {
  if (!scores.in_label_space || task == Task::kRegression) return;
  for (double& value : rows) value = logit_of(value, task == Task::kMultiLabel);
}

// The predictions of some nodes as the metrics take them, each part made when it is first asked for.
class MetricInput {
 public:
  MetricInput(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores, double temperature)
      : targets_(targets), scores_(scores), temperature_(temperature) {
    for (const NodeId node : nodes) {
      if (targets.task != Task::kClassification || targets.classes[node] >= 0) nodes_.push_back(node);
    }
    rows_ = gathered(nodes_, targets.width, total(scores));
    if (targets.task == Task::kClassification) {
      take_classes();
    } else {
      take_values();
    }
  }

  // A shift of truth and prediction alike changes no metric of values.
  void use_units(std::span<const double> units) {
    for (auto* numbers : {&truth_, &rows_}) {
      for (size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] *= units[i % units.size()];
    }
  }

  double value(const MetricInfo& metric) {
    if (metric.needs_probabilities && probability_.empty()) take_probabilities();
    switch (targets_.task) {
      case Task::kClassification:
        return class_metric(metric.name, {targets_.width, classes_, predicted_classes_, probability_, {}});
      case Task::kMultiLabel:
        return label_metric(metric.name, {targets_.width, truth_, predicted_labels_, probability_, {}});
      default:
        return value_metric(metric.name, {targets_.width, truth_, rows_, {}});
    }
  }

 private:
  void take_classes() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      classes_.push_back(targets_.classes[nodes_[i]]);
      predicted_classes_.push_back(predicted_class(rows_.data() + i * targets_.width, targets_.width));
    }
  }

  void take_values() {
    for (const NodeId node : nodes_) {
      const auto row = targets_.values.begin() + node * targets_.width;
      truth_.insert(truth_.end(), row, row + targets_.width);
    }
    if (targets_.task != Task::kMultiLabel) return;
    for (const double score : rows_) predicted_labels_.push_back(score > threshold(scores_) ? 1 : 0);
  }

  void take_probabilities() {
    std::vector<double> logits = rows_;
    make_logits(logits, targets_.task, scores_);
    probability_ = targets_.task == Task::kClassification ? softmax_rows(logits, targets_.width, temperature_)
                                                          : sigmoids(logits, temperature_);
  }

  const Targets& targets_;
  const Scores& scores_;
  double temperature_;
  std::vector<NodeId> nodes_;  // that count
  std::vector<double> rows_;   // [n * width] scores
  std::vector<int32_t> classes_, predicted_classes_;
  std::vector<double> truth_;
  std::vector<char> predicted_labels_;
  std::vector<double> probability_;
};

// Counts of one class or label: true and false positives, false negatives.
struct Counts {
  int64_t hit = 0, wrong = 0, missed = 0;

  static double ratio(int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

std::vector<Counts> count(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  std::vector<Counts> counts(targets.width);
  const at::Tensor sum = total(scores);
  const auto* rows = sum.data_ptr<double>();
  for (const NodeId node : nodes) {
    const double* row = rows + node * targets.width;
    if (targets.task == Task::kClassification) {
      const int64_t truth = targets.classes[node], guess = predicted_class(row, targets.width);
      if (truth < 0) continue;
      if (guess == truth) {
        ++counts[truth].hit;
      } else {
        ++counts[guess].wrong;
        ++counts[truth].missed;
      }
      continue;
    }
    for (int64_t c = 0; c < targets.width; ++c) {
      const double truth = targets.values[node * targets.width + c];
      if (std::isnan(truth)) continue;
      const bool guess = row[c] > threshold(scores);
      counts[c].hit += guess && truth > 0.5;
      counts[c].wrong += guess && truth <= 0.5;
      counts[c].missed += !guess && truth > 0.5;
    }
  }
  return counts;
}

}  // namespace

const std::vector<MetricInfo>& metrics_of(Task task) {
  if (task == Task::kRegression) return value_metrics();
  return task == Task::kMultiLabel ? label_metrics() : class_metrics();
}

const MetricInfo& find_metric(Task task, std::string_view name) {
  const std::vector<MetricInfo>& known = metrics_of(task);
  if (name == "auto") return known.front();
  std::vector<std::string> names;
  for (const MetricInfo& info : known) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail_usage(fmt::format("--metric {} (the task is {})", unknown_name(name, names), task_name(task)));
}

bool higher_is_better(std::string_view metric) {
  const MetricInfo* info = metric_named(metric);
  return info == nullptr || info->higher_is_better;
}

Metrics measure(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                const MeasureOptions& options) {
  const MetricInfo& first = find_metric(targets.task, options.metric);
  MetricInput measured(targets, nodes, scores, options.temperature);
  Metrics metrics{{first.name, measured.value(first)}};
  for (const MetricInfo& info : metrics_of(targets.task)) {
    if (info.name != first.name) metrics.emplace_back(info.name, measured.value(info));
  }
  return metrics;
}

double measure_one(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores,
                   const MetricInfo& metric, std::span<const double> units) {
  MetricInput input(targets, nodes, scores, 1.0);
  if (!units.empty()) input.use_units(units);
  return input.value(metric);
}

std::vector<double> logits_of(Task task, std::span<const NodeId> nodes, int64_t width, const Scores& scores) {
  std::vector<double> rows = gathered(nodes, width, total(scores));
  make_logits(rows, task, scores);
  return rows;
}

std::vector<ClassRow> by_class(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  std::vector<ClassRow> rows;
  if (targets.task == Task::kRegression) return rows;
  const std::vector<Counts> counts = count(targets, nodes, scores);
  for (int64_t c = 0; c < targets.width; ++c) {
    const auto& [hit, wrong, missed] = counts[c];
    rows.push_back({targets.names.empty() ? fmt::format("{}", c) : targets.names[c], hit + missed,
                    Counts::ratio(hit, hit + wrong), Counts::ratio(hit, hit + missed),
                    Counts::ratio(2 * hit, 2 * hit + wrong + missed)});
  }
  return rows;
}

Summary summarise(const std::vector<double>& runs) {
  if (runs.empty()) return {kNothing, kNothing, kNothing};
  Summary summary;
  const auto count = static_cast<double>(runs.size());
  double sum = 0, squares = 0;
  for (const double run : runs) sum += run;
  summary.mean = sum / count;
  if (!std::isfinite(summary.mean)) return {summary.mean, kNothing, kNothing};
  for (const double run : runs) squares += (run - summary.mean) * (run - summary.mean);
  if (runs.size() > 1) summary.std = std::sqrt(squares / (count - 1));
  constexpr int kDraws = 1000;
  const RandomStream stream(1, 95);
  std::vector<double> means(kDraws, 0.0);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (size_t i = 0; i < runs.size(); ++i) {
      means[draw] += runs[stream.below(draw * runs.size() + i, runs.size())];
    }
    means[draw] /= count;
  }
  std::sort(means.begin(), means.end());
  summary.ci95 = std::max(summary.mean - means[kDraws / 40], means[kDraws - 1 - kDraws / 40] - summary.mean);
  return summary;
}

}  // namespace qw
