#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/metric_table.h"
#include "metrics/parts.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

int64_t nodes_of(const ClassPredictions& p) { return static_cast<int64_t>(p.truth.size()); }

void check_classes(std::string_view what, std::span<const int32_t> given, int64_t classes) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] >= 0 && given[i] < classes) continue;
    fail(fmt::format("metrics: {} class of entry {} is {}, expected one of 0 .. {}", what, i, given[i],
                     classes - 1));
  }
}

void check(const ClassPredictions& p) {
  check_size("predicted", p.predicted.size(), nodes_of(p));
  if (!p.probability.empty()) check_size("probability", p.probability.size(), nodes_of(p) * p.classes);
  check_weights(p.weights, nodes_of(p));
  check_classes("the true", p.truth, p.classes);
  check_classes("the predicted", p.predicted, p.classes);
}

std::vector<Counts> count(const ClassPredictions& p) {
  std::vector<Counts> counts(p.classes);
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const double weight = weight_of(p.weights, i);
    if (p.truth[i] == p.predicted[i]) {
      counts[p.truth[i]].hit += weight;
    } else {
      counts[p.predicted[i]].wrong += weight;
      counts[p.truth[i]].missed += weight;
    }
  }
  return counts;
}

double accuracy(const ClassPredictions& p) {
  double right = 0, all = 0;
  for (const Counts& each : count(p)) {
    right += each.hit;
    all += each.support();
  }
  return all == 0 ? kNothing : right / all;
}

double balanced_accuracy(const ClassPredictions& p) {
  std::vector<double> recalls;
  for (const Counts& each : count(p)) recalls.push_back(each.recall());
  return mean_of_known(recalls);
}

// The weighted mean over nodes of loss(i).
template <class Loss>
double mean_loss(const ClassPredictions& p, const Loss& loss) {
  double sum = 0, all = 0;
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const double weight = weight_of(p.weights, i);
    if (weight == 0) continue;
    sum += weight * loss(i);
    all += weight;
  }
  return all == 0 ? kNothing : sum / all;
}

std::vector<Ranked> one_against_rest(const ClassPredictions& p, int64_t c) {
  std::vector<Ranked> nodes;
  nodes.reserve(p.truth.size());
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const double weight = weight_of(p.weights, i);
    if (weight > 0) nodes.push_back({p.probability[i * p.classes + c], p.truth[i] == c ? weight : -weight});
  }
  return nodes;
}

// Two classes are one ranking, by the probability of class 1; more are the mean over those that can be
// ranked.
template <class Area>
double ranking(const ClassPredictions& p, const Area& area) {
  if (has_nan(p.probability)) return kNothing;
  if (p.classes == 2) return area(ranked_groups(one_against_rest(p, 1)));
  std::vector<double> areas(p.classes);
  parallel_tasks(static_cast<int>(p.classes),
                 [&](int c) { areas[c] = area(ranked_groups(one_against_rest(p, c))); });
  return mean_of_known(areas);
}

double log_loss(const ClassPredictions& p) {
  return mean_loss(p, [&](int64_t i) {
    const double* row = &p.probability[i * p.classes];
    double sum = 0;
    for (int64_t c = 0; c < p.classes; ++c) sum += clipped(row[c]);
    return -std::log(clipped(row[p.truth[i]]) / sum);
  });
}

double brier(const ClassPredictions& p) {
  return mean_loss(p, [&](int64_t i) {
    const double* row = &p.probability[i * p.classes];
    double sum = 0;
    for (int64_t c = p.classes == 2 ? 1 : 0; c < p.classes; ++c) {
      const double difference = row[c] - (p.truth[i] == c ? 1.0 : 0.0);
      sum += difference * difference;
    }
    return sum;
  });
}

double ece(const ClassPredictions& p) {
  if (has_nan(p.probability)) return kNothing;
  CalibrationBins bins;
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const auto row = p.probability.subspan(i * p.classes, p.classes);
    const auto likeliest = std::max_element(row.begin(), row.end());
    bins.add(*likeliest, likeliest - row.begin() == p.truth[i], weight_of(p.weights, i));
  }
  return bins.error();
}

const std::vector<MetricEntry<ClassPredictions>>& table() {
  using P = const ClassPredictions&;
  static const std::vector<MetricEntry<ClassPredictions>> entries = {
      {{"accuracy", "share of nodes whose class is right", true, false, true}, accuracy},
      {{"balanced_accuracy", "mean over classes of the share found (recall)", true, false, true},
       balanced_accuracy},
      {{"macro_f1", "mean over classes of F1", true, false, true}, [](P p) { return macro_f1(count(p)); }},
      {{"weighted_f1", "mean over classes of F1, by number of nodes", true, false, true},
       [](P p) { return weighted_f1(count(p)); }},
      {{"micro_f1", "F1 of all classes' counts together", true, false, true},
       [](P p) { return micro_f1(count(p)); }},
      {{"roc_auc", "area under the ROC curve, mean over classes", true, true, true},
       [](P p) { return ranking(p, roc_auc); }},
      {{"average_precision", "area under precision by recall, mean over classes", true, true, true},
       [](P p) { return ranking(p, average_precision); }},
      {{"log_loss", "mean of -log of the true class's probability", false, true, false}, log_loss},
      {{"brier", "mean squared error of the probabilities", false, true, false}, brier},
      {{"ece", "calibration error: |accuracy - confidence| over 15 bins", false, true, true}, ece}};
  return entries;
}

}  // namespace

const std::vector<MetricInfo>& class_metrics() {
  static const std::vector<MetricInfo> all = infos(table());
  return all;
}

double class_metric(std::string_view name, const ClassPredictions& predictions) {
  const auto& metric = find_metric(table(), name, "classes");
  check(predictions);
  if (predictions.truth.empty()) return kNothing;
  require_probabilities(metric.info, !predictions.probability.empty(), "classes");
  return metric.measure(predictions);
}

}  // namespace qw
