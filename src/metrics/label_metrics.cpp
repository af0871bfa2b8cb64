#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/metric_table.h"
#include "metrics/parts.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

int64_t nodes_of(const LabelPredictions& p) {
  return p.labels == 0 ? 0 : static_cast<int64_t>(p.truth.size()) / p.labels;
}

void check(const LabelPredictions& p) {
  check_size("truth", p.truth.size(), nodes_of(p) * p.labels);
  check_size("predicted", p.predicted.size(), nodes_of(p) * p.labels);
  if (!p.probability.empty()) check_size("probability", p.probability.size(), nodes_of(p) * p.labels);
  check_weights(p.weights, nodes_of(p));
  for (size_t at = 0; at < p.truth.size(); ++at) {
    const double truth = p.truth[at];
    if (truth == 0 || truth == 1 || std::isnan(truth)) continue;
    fail(fmt::format("metrics: the true label {} of entry {} is {}, expected 0, 1 or NaN", at % p.labels,
                     at / p.labels, truth));
  }
}

// Calls visit(index in the arrays, label, weight) for each entry that counts, node by node.
template <class Visit>
void each_known(const LabelPredictions& p, const Visit& visit) {
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const double weight = weight_of(p.weights, i);
    if (weight == 0) continue;
    for (int64_t c = 0; c < p.labels; ++c) {
      const int64_t at = i * p.labels + c;
      if (!std::isnan(p.truth[at])) visit(at, c, weight);
    }
  }
}

std::vector<Counts> count(const LabelPredictions& p) {
  std::vector<Counts> counts(p.labels);
  each_known(p, [&](int64_t at, int64_t c, double weight) {
    const bool truth = p.truth[at] == 1, guess = p.predicted[at] != 0;
    if (guess && truth) counts[c].hit += weight;
    if (guess && !truth) counts[c].wrong += weight;
    if (!guess && truth) counts[c].missed += weight;
  });
  return counts;
}

double accuracy(const LabelPredictions& p) {
  double known = 0, errors = 0;
  each_known(p, [&](int64_t, int64_t, double weight) { known += weight; });
  for (const Counts& each : count(p)) errors += each.wrong + each.missed;
  return known == 0 ? kNothing : 1.0 - errors / known;
}

// The weighted mean over known entries of loss(index).
template <class Loss>
double mean_loss(const LabelPredictions& p, const Loss& loss) {
  double sum = 0, all = 0;
  each_known(p, [&](int64_t at, int64_t, double weight) {
    sum += weight * loss(at);
    all += weight;
  });
  return all == 0 ? kNothing : sum / all;
}

template <class Area>
double ranking(const LabelPredictions& p, const Area& area) {
  if (has_nan(p.probability)) return kNothing;
  std::vector<double> areas(p.labels);
  parallel_tasks(static_cast<int>(p.labels), [&](int c) {
    std::vector<Ranked> nodes;
    for (int64_t i = 0; i < nodes_of(p); ++i) {
      const double weight = weight_of(p.weights, i), truth = p.truth[i * p.labels + c];
      if (weight == 0 || std::isnan(truth)) continue;
      nodes.push_back({p.probability[i * p.labels + c], truth == 1 ? weight : -weight});
    }
    areas[c] = area(ranked_groups(std::move(nodes)));
  });
  return mean_of_known(areas);
}

double log_loss(const LabelPredictions& p) {
  return mean_loss(p, [&](int64_t at) {
    const double one = clipped(p.probability[at]);
    return -std::log(p.truth[at] == 1 ? one : 1 - one);
  });
}

double brier(const LabelPredictions& p) {
  return mean_loss(p, [&](int64_t at) {
    const double difference = p.probability[at] - p.truth[at];
    return difference * difference;
  });
}

double ece(const LabelPredictions& p) {
  if (has_nan(p.probability)) return kNothing;
  CalibrationBins bins;
  each_known(p, [&](int64_t at, int64_t, double weight) {
    const double one = p.probability[at];
    bins.add(std::max(one, 1 - one), (one > 0.5) == (p.truth[at] == 1), weight);
  });
  return bins.error();
}

const std::vector<MetricEntry<LabelPredictions>>& table() {
  using P = const LabelPredictions&;
  static const std::vector<MetricEntry<LabelPredictions>> entries = {
      {{"macro_f1", "mean over labels of F1", true, false, true}, [](P p) { return macro_f1(count(p)); }},
      {{"micro_f1", "F1 of all labels' counts together", true, false, true},
       [](P p) { return micro_f1(count(p)); }},
      {{"weighted_f1", "mean over labels of F1, by number of nodes that have it", true, false, true},
       [](P p) { return weighted_f1(count(p)); }},
      {{"accuracy", "share of right labels", true, false, true}, accuracy},
      {{"roc_auc", "area under the ROC curve, mean over labels", true, true, true},
       [](P p) { return ranking(p, roc_auc); }},
      {{"average_precision", "area under precision by recall, mean over labels", true, true, true},
       [](P p) { return ranking(p, average_precision); }},
      {{"log_loss", "mean of -log of the true label's probability", false, true, false}, log_loss},
      {{"brier", "mean squared error of the probabilities", false, true, false}, brier},
      {{"ece", "calibration error: |accuracy - confidence| over 15 bins", false, true, true}, ece}};
  return entries;
}

}  // namespace

const std::vector<MetricInfo>& label_metrics() {
  static const std::vector<MetricInfo> all = infos(table());
  return all;
}

double label_metric(std::string_view name, const LabelPredictions& predictions) {
  const auto& metric = find_metric(table(), name, "labels");
  check(predictions);
  if (predictions.truth.empty()) return kNothing;
  require_probabilities(metric.info, !predictions.probability.empty(), "labels");
  return metric.measure(predictions);
}

}  // namespace qw
