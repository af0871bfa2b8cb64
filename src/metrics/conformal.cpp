#include "qw/metrics/conformal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/parts.h"
#include "qw/core/error.h"

namespace qw {
namespace {

void check_scores(std::span<const double> scores) {
  const auto nan = std::find_if(scores.begin(), scores.end(), [](double score) { return std::isnan(score); });
  if (nan == scores.end()) return;
  fail(fmt::format("conformal prediction: score {} is not a number; the model's predictions are NaN",
                   nan - scores.begin()));
}

// How strange `value` is for a label: the same arithmetic for scores and for sets, so that ties stay ties.
double label_score(double probability, int value) { return value == 1 ? 1 - probability : probability; }

}  // namespace

double conformal_threshold(std::vector<double> scores, double coverage) {
  if (!(coverage > 0 && coverage < 1)) {
    fail_usage(
        fmt::format("conformal prediction: the coverage is {}, expected a number between 0 and 1", coverage));
  }
  check_scores(scores);
  const auto count = static_cast<double>(scores.size());
  // 0.07 * 100 is a little more than 7: what is whole but for rounding is whole.
  const double product = (count + 1) * coverage;
  const double rank = std::ceil(product * (1 - 4 * std::numeric_limits<double>::epsilon()));
  if (rank > count) return std::numeric_limits<double>::infinity();
  const auto place = scores.begin() + (static_cast<int64_t>(rank) - 1);
  std::nth_element(scores.begin(), place, scores.end());
  return *place;
}

std::vector<double> thinned(std::vector<double> scores, int64_t most) {
  QW_ASSERT(most >= 1);
  check_scores(scores);
  std::sort(scores.begin(), scores.end());
  const auto count = static_cast<int64_t>(scores.size());
  if (count <= most) return scores;
  // The i-th kept has rank ceil(i n / m) >= i (n + 1) / (m + 1) for n >= m: the threshold's rank among the
  // kept, ceil((m + 1) coverage), leads to at least ceil((n + 1) coverage) among all.
  std::vector<double> kept(most);
  for (int64_t i = 1; i <= most; ++i) {
    const auto rank = static_cast<int64_t>((static_cast<__int128>(i) * count + most - 1) / most);
    kept[i - 1] = scores[rank - 1];
  }
  return kept;
}

std::vector<double> class_scores(std::span<const double> probability, int64_t classes,
                                 std::span<const int32_t> truth) {
  check_size("probability", probability.size(), static_cast<int64_t>(truth.size()) * classes);
  std::vector<double> scores(truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    QW_ASSERT(truth[i] >= 0 && truth[i] < classes);
    scores[i] = 1 - probability[i * classes + truth[i]];
  }
  return scores;
}

std::vector<char> class_sets(std::span<const double> probability, int64_t classes, double threshold) {
  check_size("probability", probability.size() % static_cast<size_t>(std::max<int64_t>(1, classes)), 0);
  std::vector<char> sets(probability.size());
  for (size_t at = 0; at < sets.size(); ++at) sets[at] = 1 - probability[at] <= threshold;
  return sets;
}

std::vector<double> value_scores(std::span<const double> predicted, std::span<const double> truth,
                                 int64_t columns, int64_t column) {
  check_size("predicted", predicted.size(), static_cast<int64_t>(truth.size()));
  QW_ASSERT(column >= 0 && column < columns);
  std::vector<double> scores;
  for (size_t at = column; at < truth.size(); at += columns) {
    if (!std::isnan(truth[at])) scores.push_back(std::abs(predicted[at] - truth[at]));
  }
  return scores;
}

std::vector<double> label_scores(std::span<const double> probability, std::span<const double> truth,
                                 int64_t labels, int64_t label, int value) {
  check_size("probability", probability.size(), static_cast<int64_t>(truth.size()));
  QW_ASSERT(label >= 0 && label < labels && (value == 0 || value == 1));
  std::vector<double> scores;
  for (size_t at = label; at < truth.size(); at += labels) {
    if (truth[at] == value) scores.push_back(label_score(probability[at], value));
  }
  return scores;
}

LabelSet label_set(double probability, double threshold_of_zero, double threshold_of_one) {
  return {label_score(probability, 0) <= threshold_of_zero, label_score(probability, 1) <= threshold_of_one};
}

}  // namespace qw
