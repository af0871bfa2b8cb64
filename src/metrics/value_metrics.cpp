#include <algorithm>
#include <cmath>

#include "metrics/metric_table.h"
#include "metrics/parts.h"

namespace qw {
namespace {

int64_t nodes_of(const ValuePredictions& p) {
  return p.columns == 0 ? 0 : static_cast<int64_t>(p.truth.size()) / p.columns;
}

void check(const ValuePredictions& p) {
  check_size("truth", p.truth.size(), nodes_of(p) * p.columns);
  check_size("predicted", p.predicted.size(), nodes_of(p) * p.columns);
  check_weights(p.weights, nodes_of(p));
}

// Calls visit(truth, predicted, weight) for each entry of a column that counts.
template <class Visit>
void each_known(const ValuePredictions& p, int64_t column, const Visit& visit) {
  for (int64_t i = 0; i < nodes_of(p); ++i) {
    const int64_t at = i * p.columns + column;
    const double weight = weight_of(p.weights, i);
    if (weight > 0 && !std::isnan(p.truth[at])) visit(p.truth[at], p.predicted[at], weight);
  }
}

template <class Visit>
void each_known(const ValuePredictions& p, const Visit& visit) {
  for (int64_t column = 0; column < p.columns; ++column) each_known(p, column, visit);
}

// Sum over a column of squares around its mean; 0 where all its values are equal, which rounding of the mean
// would not give.
void add_squares_around_mean(const ValuePredictions& p, int64_t column, double& sum) {
  double mean = 0, all = 0, least = INFINITY, most = -INFINITY;
  each_known(p, column, [&](double truth, double, double weight) {
    mean += weight * truth;
    all += weight;
    least = std::min(least, truth);
    most = std::max(most, truth);
  });
  if (least >= most) return;
  mean /= all;
  each_known(p, column,
             [&](double truth, double, double weight) { sum += weight * ((truth - mean) * (truth - mean)); });
}

// The weighted mean of loss(predicted - truth), or its sum.
template <class Loss>
double loss_of(const ValuePredictions& p, bool mean, const Loss& loss) {
  double sum = 0, all = 0;
  each_known(p, [&](double truth, double guess, double weight) {
    sum += weight * loss(guess - truth);
    all += weight;
  });
  if (all == 0) return kNothing;
  return mean ? sum / all : sum;
}

double square(double x) { return x * x; }

double r2(const ValuePredictions& p) {
  double around_mean = 0;
  for (int64_t column = 0; column < p.columns; ++column) add_squares_around_mean(p, column, around_mean);
  return around_mean > 0 ? 1.0 - loss_of(p, false, square) / around_mean : kNothing;
}

double mse(const ValuePredictions& p) { return loss_of(p, true, square); }
double rmse(const ValuePredictions& p) { return std::sqrt(mse(p)); }
double mae(const ValuePredictions& p) {
  return loss_of(p, true, [](double x) { return std::abs(x); });
}

// The first error at which the weights below and at it are half of all.
double weighted_median(std::vector<std::pair<double, double>> errors) {
  std::sort(errors.begin(), errors.end());
  double all = 0, below = 0;
  for (const auto& [error, weight] : errors) all += weight;
  for (const auto& [error, weight] : errors) {
    below += weight;
    if (below >= 0.5 * all) return error;
  }
  return kNothing;
}

double median(std::vector<std::pair<double, double>> errors) {
  const auto middle = errors.begin() + static_cast<int64_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  if (errors.size() % 2 == 1) return middle->first;
  return (std::max_element(errors.begin(), middle)->first + middle->first) / 2;
}

double median_ae(const ValuePredictions& p) {
  std::vector<std::pair<double, double>> errors;
  bool has_nan = false;
  each_known(p, [&](double truth, double guess, double weight) {
    errors.emplace_back(std::abs(guess - truth), weight);
    has_nan = has_nan || std::isnan(guess - truth);
  });
  if (has_nan || errors.empty()) return kNothing;
  return p.weights.empty() ? median(std::move(errors)) : weighted_median(std::move(errors));
}

const std::vector<MetricEntry<ValuePredictions>>& table() {
  static const std::vector<MetricEntry<ValuePredictions>> entries = {
      {{"r2", "share of the variance that is explained", true, false, false}, r2},
      {{"rmse", "root of the mean squared error", false, false, false}, rmse},
      {{"mse", "mean squared error", false, false, false}, mse},
      {{"mae", "mean absolute error", false, false, false}, mae},
      {{"median_ae", "median absolute error", false, false, false}, median_ae}};
  return entries;
}

}  // namespace

const std::vector<MetricInfo>& value_metrics() {
  static const std::vector<MetricInfo> all = infos(table());
  return all;
}

double value_metric(std::string_view name, const ValuePredictions& predictions) {
  const auto& metric = find_metric(table(), name, "values");
  check(predictions);
  return metric.measure(predictions);
}

}  // namespace qw
