#include "metrics/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "qw/core/error.h"

namespace qw {
namespace {

// Highest score first. Ties are put in order by weight, so that the sums depend on no order of nodes.
void rank(std::vector<Ranked>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : a.signed_weight < b.signed_weight;
  });
}

// Calls visit(positive, negative) with the weights of each group of equal scores, highest score first.
template <class Visit>
void each_group(const std::vector<Ranked>& nodes, const Visit& visit) {
  for (size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    double positive = 0, negative = 0;
    for (; end < nodes.size() && nodes[end].score == nodes[begin].score; ++end) {
      const double weight = nodes[end].signed_weight;
      (weight > 0 ? positive : negative) += std::abs(weight);
    }
    visit(positive, negative);
  }
}

bool has_both_kinds(const std::vector<Ranked>& nodes) {
  const auto is_positive = [](const Ranked& node) { return node.signed_weight > 0; };
  return std::any_of(nodes.begin(), nodes.end(), is_positive) &&
         !std::all_of(nodes.begin(), nodes.end(), is_positive);
}

}  // namespace

void check_size(std::string_view what, size_t size, int64_t expected) {
  if (static_cast<int64_t>(size) == expected) return;
  fail(fmt::format("metrics: {} has {} entries, expected {}", what, size, expected));
}

void check_weights(std::span<const double> weights, int64_t nodes) {
  if (weights.empty()) return;
  check_size("weights", weights.size(), nodes);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] >= 0 && std::isfinite(weights[i])) continue;
    fail(fmt::format("metrics: the weight of entry {} is {}, expected a finite number of at least 0", i,
                     weights[i]));
  }
}

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

double macro_f1(const std::vector<Counts>& counts) {
  double sum = 0;
  int64_t present = 0;
  for (const Counts& each : counts) {
    if (each.all() == 0) continue;
    sum += each.f1();
    ++present;
  }
  return present == 0 ? kNothing : sum / static_cast<double>(present);
}

double micro_f1(const std::vector<Counts>& counts) {
  Counts together;
  for (const Counts& each : counts) {
    together.hit += each.hit;
    together.wrong += each.wrong;
    together.missed += each.missed;
  }
  return macro_f1({together});
}

double weighted_f1(const std::vector<Counts>& counts) {
  double sum = 0, support = 0, all = 0;
  for (const Counts& each : counts) {
    sum += each.support() * each.f1();
    support += each.support();
    all += each.all();
  }
  if (all == 0) return kNothing;
  return support == 0 ? 0.0 : sum / support;
}

double mean_of_known(const std::vector<double>& values) {
  double sum = 0;
  int64_t known = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++known;
  }
  return known == 0 ? kNothing : sum / static_cast<double>(known);
}

double roc_auc(std::vector<Ranked> nodes) {
  if (!has_both_kinds(nodes)) return kNothing;
  rank(nodes);
  double above = 0, negatives = 0, area = 0;
  each_group(nodes, [&](double positive, double negative) {
    area += negative * (above + 0.5 * positive);
    above += positive;
    negatives += negative;
  });
  return area / negatives / above;
}

double average_precision(std::vector<Ranked> nodes) {
  if (!has_both_kinds(nodes)) return kNothing;
  rank(nodes);
  double above = 0, all = 0, sum = 0;
  each_group(nodes, [&](double positive, double negative) {
    above += positive;
    all += positive + negative;
    sum += positive * (above / all);
  });
  return sum / above;
}

void CalibrationBins::add(double confidence, bool right, double weight) {
  const int bin = std::clamp(static_cast<int>(std::ceil(confidence * kBins)) - 1, 0, kBins - 1);
  weight_[bin] += weight;
  right_[bin] += right ? weight : 0.0;
  confidence_[bin] += weight * confidence;
}

double CalibrationBins::error() const {
  double error = 0, all = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    error += std::abs(right_[bin] - confidence_[bin]);
    all += weight_[bin];
  }
  return all == 0 ? kNothing : error / all;
}

}  // namespace qw
