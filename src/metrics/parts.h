// What the metrics of several kinds of predictions share.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace qw {

inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Weight of node i: 1 where no weights were given.
inline double weight_of(std::span<const double> weights, int64_t i) {
  return weights.empty() ? 1.0 : weights[i];
}

// Both throw qw::Error.
void check_size(std::string_view what, size_t size, int64_t expected);
void check_weights(std::span<const double> weights, int64_t nodes);

bool has_nan(std::span<const double> values);

// Weights of true and false positives and false negatives of one class or label. Sums of ones are exact, so
// that these are counts where there are no weights.
struct Counts {
  double hit = 0, wrong = 0, missed = 0;

  double support() const { return hit + missed; }
  double all() const { return hit + wrong + missed; }
  double recall() const { return hit / (hit + missed); }
  double f1() const { return hit == 0 ? 0.0 : 2 * hit / (2 * hit + wrong + missed); }
};
double macro_f1(const std::vector<Counts>& counts);     // over those that occur in truth or predictions
double micro_f1(const std::vector<Counts>& counts);     // of the sum of all counts
double weighted_f1(const std::vector<Counts>& counts);  // by support

// The mean of the values that are not NaN; NaN where all are.
double mean_of_known(const std::vector<double>& values);

// One node in a ranking: its score, and its weight, negative for a node that is not of the class.
struct Ranked {
  double score;
  double signed_weight;
};
// Weights of the nodes that share a score: those of the class, and the others.
struct RankedGroup {
  double positive = 0, negative = 0;
};
// Highest score first.
std::vector<RankedGroup> ranked_groups(std::vector<Ranked> nodes);
// Area under the ROC curve (ties count half) and average precision (equal scores are one step). NaN unless
// both kinds of node occur.
double roc_auc(const std::vector<RankedGroup>& groups);
double average_precision(const std::vector<RankedGroup>& groups);

// Log loss of the probability of what is true, clipped to [epsilon, 1 - epsilon].
inline constexpr double kClip = 2.220446049250313e-16;
inline double clipped(double p) { return p < kClip ? kClip : p > 1 - kClip ? 1 - kClip : p; }

// Expected calibration error: 15 bins of equal width, bin b holding b/15 < confidence <= (b+1)/15.
class CalibrationBins {
 public:
  void add(double confidence, bool right, double weight);
  double error() const;

 private:
  static constexpr int kBins = 15;
  double weight_[kBins] = {}, right_[kBins] = {}, confidence_[kBins] = {};
};

}  // namespace qw
