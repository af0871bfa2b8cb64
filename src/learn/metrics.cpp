#include "qw/learn/metrics.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "qw/core/random.h"

namespace qw {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

at::Tensor total(const Scores& scores) { return scores.sum().to(at::kDouble).cpu().contiguous(); }

// Above it a 0/1 label is predicted.
double threshold(const Scores& scores) { return scores.in_label_space ? 0.5 : 0.0; }

// Counts of one class or label: true and false positives, false negatives.
struct Counts {
  int64_t hit = 0, wrong = 0, missed = 0;

  double precision() const { return ratio(hit, hit + wrong); }
  double recall() const { return ratio(hit, hit + missed); }
  double f1() const { return ratio(2 * hit, 2 * hit + wrong + missed); }
  static double ratio(int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

int64_t predicted_class(const double* row, int64_t width) { return std::max_element(row, row + width) - row; }

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

double macro_f1(const std::vector<Counts>& counts) {
  double sum = 0;
  int64_t present = 0;
  for (const Counts& each : counts) {
    if (each.hit + each.wrong + each.missed == 0) continue;
    sum += each.f1();
    ++present;
  }
  return present == 0 ? kNothing : sum / static_cast<double>(present);
}

// Of a column: squared and absolute errors, and squares around its mean.
Metrics of_values(const Targets& targets, std::span<const NodeId> nodes, const at::Tensor& scores) {
  const auto* rows = scores.data_ptr<double>();
  double squares = 0, absolute = 0, around_mean = 0;
  int64_t all = 0;
  for (int64_t c = 0; c < targets.width; ++c) {
    double mean = 0;
    int64_t known = 0;
    const auto each = [&](const auto& visit) {
      for (const NodeId node : nodes) {
        const int64_t at = node * targets.width + c;
        if (!std::isnan(targets.values[at])) visit(targets.values[at], rows[at]);
      }
    };
    each([&](double truth, double) { mean += truth, ++known; });
    mean /= static_cast<double>(std::max<int64_t>(1, known));
    each([&](double truth, double guess) {
      squares += (guess - truth) * (guess - truth);
      absolute += std::abs(guess - truth);
      around_mean += (truth - mean) * (truth - mean);
    });
    all += known;
  }
  const auto count = static_cast<double>(all);
  return {{"r2", around_mean > 0 ? 1.0 - squares / around_mean : kNothing},
          {"mse", all > 0 ? squares / count : kNothing},
          {"mae", all > 0 ? absolute / count : kNothing}};
}

double accuracy(const std::vector<Counts>& counts) {
  int64_t right = 0, all = 0;
  for (const Counts& each : counts) {
    right += each.hit;
    all += each.hit + each.missed;
  }
  return all == 0 ? kNothing : Counts::ratio(right, all);
}

// Share of right 0/1 labels.
double label_accuracy(const Targets& targets, std::span<const NodeId> nodes,
                      const std::vector<Counts>& counts) {
  int64_t known = 0, errors = 0;
  for (const NodeId node : nodes) {
    for (int64_t c = 0; c < targets.width; ++c)
      known += !std::isnan(targets.values[node * targets.width + c]);
  }
  for (const Counts& each : counts) errors += each.wrong + each.missed;
  return known == 0 ? kNothing : 1.0 - Counts::ratio(errors, known);
}

}  // namespace

std::string primary_metric_name(Task task) {
  if (task == Task::kRegression) return "r2";
  return task == Task::kMultiLabel ? "macro_f1" : "accuracy";
}

Metrics measure(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  if (targets.task == Task::kRegression) return of_values(targets, nodes, total(scores));
  const std::vector<Counts> counts = count(targets, nodes, scores);
  if (targets.task == Task::kClassification) {
    return {{"accuracy", accuracy(counts)}, {"macro_f1", macro_f1(counts)}};
  }
  Counts together;
  for (const Counts& each : counts) {
    together.hit += each.hit;
    together.wrong += each.wrong;
    together.missed += each.missed;
  }
  return {{"macro_f1", macro_f1(counts)},
          {"micro_f1", macro_f1({together})},
          {"accuracy", label_accuracy(targets, nodes, counts)}};
}

double primary_metric(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  return measure(targets, nodes, scores).front().second;
}

std::vector<ClassRow> by_class(const Targets& targets, std::span<const NodeId> nodes, const Scores& scores) {
  std::vector<ClassRow> rows;
  if (targets.task == Task::kRegression) return rows;
  const std::vector<Counts> counts = count(targets, nodes, scores);
  for (int64_t c = 0; c < targets.width; ++c) {
    rows.push_back({targets.names.empty() ? fmt::format("{}", c) : targets.names[c],
                    counts[c].hit + counts[c].missed, counts[c].precision(), counts[c].recall(),
                    counts[c].f1()});
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
