#include "qw/report/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "qw/core/error.h"

namespace qw {
namespace {

constexpr double kCoverage = 0.95;
constexpr double kRounding = 1e-12;  // of the largest value
constexpr int64_t kMostExact = 25;

// P(|T| <= t), by the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
double central_probability(double t, int64_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle), square = cosine * cosine;
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1.0, sum = 0;
  for (int64_t power = odd ? 1 : 0; power <= degrees - 2; power += 2) {
    sum += term;
    term *= square * static_cast<double>(power + 1) / static_cast<double>(power + 2);
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

// Mean ranks of sizes in rising order, from 1, doubled to be whole.
std::vector<int64_t> doubled_ranks(const std::vector<double>& sizes, double tolerance) {
  std::vector<int64_t> ranks(sizes.size());
  for (size_t begin = 0, end = 0; begin < sizes.size(); begin = end) {
    while (end < sizes.size() && sizes[end] - sizes[begin] <= tolerance) ++end;
    std::fill(ranks.begin() + begin, ranks.begin() + end, static_cast<int64_t>(begin + 1 + end));
  }
  return ranks;
}

// The share of choices of signs whose sum of positive ranks is at most `sum`.
double share_at_most(int64_t sum, const std::vector<int64_t>& ranks) {
  std::vector<double> choices(sum + 1, 0.0);  // how many have each sum; whole numbers below 2^25
  choices[0] = 1;
  for (const int64_t rank : ranks) {
    for (int64_t s = sum; s >= rank; --s) choices[s] += choices[s - rank];
  }
  return std::ldexp(std::accumulate(choices.begin(), choices.end(), 0.0), -static_cast<int>(ranks.size()));
}

double normal_p_value(int64_t smaller_sum, const std::vector<int64_t>& ranks) {
  double total = 0, squares = 0;
  for (const int64_t rank : ranks) {
    total += static_cast<double>(rank);
    squares += static_cast<double>(rank) * static_cast<double>(rank);
  }
  // Half a rank towards the middle for continuity: 1 in doubled ranks.
  const double distance = std::max(0.0, total / 2 - static_cast<double>(smaller_sum) - 1);
  return std::erfc(distance / std::sqrt(squares / 4) / std::numbers::sqrt2);
}

// Candidate minus baseline; what is rounding is 0.
std::vector<double> differences_of(std::span<const double> baseline, std::span<const double> candidate,
                                   double rounding) {
  std::vector<double> differences(baseline.size());
  for (size_t i = 0; i < baseline.size(); ++i) {
    const double difference = candidate[i] - baseline[i];
    differences[i] = std::fabs(difference) <= rounding ? 0 : difference;
  }
  return differences;
}

// By which values differ that would be equal but for rounding.
double rounding_of(std::span<const double> baseline, std::span<const double> candidate) {
  if (baseline.size() != candidate.size()) {
    fail(fmt::format("paired comparison: {} values against {}; every value needs its partner",
                     baseline.size(), candidate.size()));
  }
  if (baseline.size() < 2)
    fail("paired comparison: fewer than two pairs have no interval; add runs with other seeds");
  double largest = 0;
  for (const std::span<const double> values : {baseline, candidate}) {
    for (const double value : values) {
      if (!std::isfinite(value)) fail(fmt::format("paired comparison: {} is no number to compare", value));
      largest = std::max(largest, std::fabs(value));
    }
  }
  return kRounding * largest;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHelps:
      return "helps";
    case Verdict::kHurts:
      return "hurts";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

double student_t(double coverage, int64_t degrees) {
  if (!(coverage > 0 && coverage < 1) || degrees < 1) {
    fail(
        fmt::format("student_t: coverage {} must be in (0, 1) and degrees {} at least 1", coverage, degrees));
  }
  double low = 0, high = 1;
  while (central_probability(high, degrees) < coverage && high < 1e300) high *= 2;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (central_probability(middle, degrees) < coverage ? low : high) = middle;
  }
}

double wilcoxon_p_value(std::span<const double> differences, double tolerance) {
  std::vector<double> signed_sizes;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(signed_sizes),
               [](double difference) { return difference != 0; });
  if (signed_sizes.empty()) return 1;
  std::sort(signed_sizes.begin(), signed_sizes.end(),
            [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  std::vector<double> sizes(signed_sizes.size());
  std::transform(signed_sizes.begin(), signed_sizes.end(), sizes.begin(),
                 [](double x) { return std::fabs(x); });
  const std::vector<int64_t> ranks = doubled_ranks(sizes, tolerance);
  int64_t positive = 0, total = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    total += ranks[i];
    if (signed_sizes[i] > 0) positive += ranks[i];
  }
  const int64_t smaller = std::min(positive, total - positive);
  if (static_cast<int64_t>(ranks.size()) > kMostExact) return normal_p_value(smaller, ranks);
  return std::min(1.0, 2 * share_at_most(smaller, ranks));
}

PairedComparison compare_paired(std::span<const double> baseline, std::span<const double> candidate,
                                bool higher_is_better) {
  const double rounding = rounding_of(baseline, candidate);
  const std::vector<double> differences = differences_of(baseline, candidate, rounding);
  const auto pairs = static_cast<double>(differences.size());
  PairedComparison result;
  result.pairs = static_cast<int64_t>(differences.size());
  result.difference = std::accumulate(differences.begin(), differences.end(), 0.0) / pairs;
  if (std::fabs(result.difference) <= rounding) result.difference = 0;
  double squares = 0;
  for (const double difference : differences) {
    squares += (difference - result.difference) * (difference - result.difference);
    const double gain = higher_is_better ? difference : -difference;
    ++(gain > 0 ? result.wins : gain < 0 ? result.losses : result.ties);
  }
  result.half_width =
      student_t(kCoverage, result.pairs - 1) * std::sqrt(squares / (pairs - 1)) / std::sqrt(pairs);
  result.p_value = wilcoxon_p_value(differences, rounding);
  if (result.lower() > 0) result.verdict = higher_is_better ? Verdict::kHelps : Verdict::kHurts;
  if (result.upper() < 0) result.verdict = higher_is_better ? Verdict::kHurts : Verdict::kHelps;
  return result;
}

}  // namespace qw
