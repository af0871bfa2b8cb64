#include "qw/metrics/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "metrics/parts.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kGrain = 1 << 12;

// First and second derivative of a node's loss by 1 / T.
struct Slope {
  double first = 0, second = 0;
};

// Root of the derivative of a convex function of 1 / T: Newton's method, halving (the logarithm of) the
// bracket where it would leave it.
template <class Slopes>
double best_temperature(const Slopes& slope_at) {
  double low = 1 / kMostTemperature, high = 1 / kLeastTemperature, at = 1;
  if (slope_at(high).first <= 0) return kLeastTemperature;
  if (slope_at(low).first >= 0) return kMostTemperature;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const Slope slope = slope_at(at);
    if (slope.first == 0) break;
    (slope.first < 0 ? low : high) = at;
    const double newton = at - slope.first / slope.second;
    if (std::abs(newton - at) <= 1e-12 * at) break;
    at = newton > low && newton < high ? newton : std::sqrt(low * high);
  }
  return 1 / at;
}

// Slopes of single nodes are computed by all threads and added by one.
template <class NodeSlope>
Slope sum_of_slopes(int64_t nodes, const NodeSlope& of_node) {
  std::vector<Slope> slopes(nodes);
  parallel_for(nodes, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) slopes[i] = of_node(i);
  });
  Slope sum;
  for (const Slope& each : slopes) {
    sum.first += each.first;
    sum.second += each.second;
  }
  return sum;
}

void check_finite(std::span<const double> logits, int64_t width) {
  for (size_t at = 0; at < logits.size(); ++at) {
    if (std::isfinite(logits[at])) continue;
    fail(fmt::format("temperature: score {} of entry {} is {}, expected a finite number", at % width,
                     at / width, logits[at]));
  }
}

// Of log(sum_c exp(b d_c)), d_c being the logit less that of the true class: mean and variance of d.
Slope softmax_slope(const double* row, int64_t classes, int32_t truth, double inverse) {
  const double most = *std::max_element(row, row + classes);
  double sum = 0, first = 0, second = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double share = std::exp(inverse * (row[c] - most)), difference = row[c] - row[truth];
    sum += share;
    first += share * difference;
  }
  first /= sum;
  for (int64_t c = 0; c < classes; ++c) {
    const double share = std::exp(inverse * (row[c] - most)) / sum, difference = row[c] - row[truth] - first;
    second += share * difference * difference;
  }
  return {first, second};
}

}  // namespace

double fit_temperature(std::span<const double> logits, int64_t classes, std::span<const int32_t> truth) {
  const auto nodes = static_cast<int64_t>(truth.size());
  check_size("logits", logits.size(), nodes * classes);
  check_finite(logits, classes);
  bool all_equal = true;
  for (int64_t i = 0; i < nodes; ++i) {
    if (truth[i] < 0 || truth[i] >= classes) {
      fail(fmt::format("temperature: the true class of entry {} is {}, expected one of 0 .. {}", i, truth[i],
                       classes - 1));
    }
    for (int64_t c = 1; c < classes; ++c)
      all_equal = all_equal && logits[i * classes + c] == logits[i * classes];
  }
  if (all_equal) return 1;
  return best_temperature([&](double inverse) {
    return sum_of_slopes(
        nodes, [&](int64_t i) { return softmax_slope(&logits[i * classes], classes, truth[i], inverse); });
  });
}

double fit_label_temperature(std::span<const double> logits, std::span<const double> truth) {
  check_size("logits", logits.size(), static_cast<int64_t>(truth.size()));
  check_finite(logits, 1);
  std::vector<double> margins;  // positive where the sign of the logit is right
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isnan(truth[i]) && logits[i] != 0) margins.push_back(truth[i] > 0.5 ? logits[i] : -logits[i]);
  }
  if (margins.empty()) return 1;
  return best_temperature([&](double inverse) {
    return sum_of_slopes(static_cast<int64_t>(margins.size()), [&](int64_t i) {
      const double wrong = sigmoid(-inverse * margins[i]);
      return Slope{-margins[i] * wrong, margins[i] * margins[i] * wrong * (1 - wrong)};
    });
  });
}

double sigmoid(double logit) {
  if (logit >= 0) return 1 / (1 + std::exp(-logit));
  const double small = std::exp(logit);
  return small / (1 + small);
}

std::vector<double> softmax_rows(std::span<const double> logits, int64_t classes, double temperature) {
  std::vector<double> probability(logits.size());
  const int64_t rows = classes == 0 ? 0 : static_cast<int64_t>(logits.size()) / classes;
  check_size("logits", logits.size(), rows * classes);
  parallel_for(rows, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double* row = &logits[i * classes];
      double* out = &probability[i * classes];
      const double most = *std::max_element(row, row + classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += out[c] = std::exp((row[c] - most) / temperature);
      for (int64_t c = 0; c < classes; ++c) out[c] /= sum;
    }
  });
  return probability;
}

std::vector<double> sigmoids(std::span<const double> logits, double temperature) {
  std::vector<double> probability(logits.size());
  parallel_for(static_cast<int64_t>(logits.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) probability[i] = sigmoid(logits[i] / temperature);
  });
  return probability;
}

}  // namespace qw
