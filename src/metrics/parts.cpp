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

bool has_both_kinds(const std::vector<RankedGroup>& groups) {
  const auto has = [&](double RankedGroup::*kind) {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const RankedGroup& group) { return group.*kind > 0; });
  };
  return has(&RankedGroup::positive) && has(&RankedGroup::negative);
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

std::vector<RankedGroup> ranked_groups(std::vector<Ranked> nodes) {
  rank(nodes);
  std::vector<RankedGroup> groups;
  for (size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    RankedGroup& group = groups.emplace_back();
    for (; end < nodes.size() && nodes[end].score == nodes[begin].score; ++end) {
      const double weight = nodes[end].signed_weight;
      (weight > 0 ? group.positive : group.negative) += std::abs(weight);
    }
  }
  return groups;
}

double roc_auc(const std::vector<RankedGroup>& groups) {
  if (!has_both_kinds(groups)) return kNothing;
  double above = 0, negatives = 0, area = 0;
  for (const auto& [positive, negative] : groups) {
    area += negative * (above + 0.5 * positive);
    above += positive;
    negatives += negative;
  }
  return area / negatives / above;
}

double average_precision(const std::vector<RankedGroup>& groups) {
  if (!has_both_kinds(groups)) return kNothing;
  double above = 0, all = 0, sum = 0;
  for (const auto& [positive, negative] : groups) {
    above += positive;
    all += positive + negative;
    sum += positive * (above / all);
  }
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
