#include "study/fit/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kMostVotes = 30;
constexpr size_t kFirstVotes = 3;
constexpr double kFarBehind = 1.5;  // times the loss of the best: nobody is so lucky

// Higher is better.
struct Standing {
  double score = -std::numeric_limits<double>::infinity();
  double loss = std::numeric_limits<double>::infinity();

  bool operator>(const Standing& other) const {
    return score > other.score || (score == other.score && loss < other.loss);
  }
};

Standing standing_of(const Judge& judge, std::span<const double> predicted) {
  const double score = judge.score(predicted), loss = judge.loss(predicted);
  Standing standing;
  if (!std::isnan(score)) standing.score = score;
  if (!std::isnan(loss)) standing.loss = loss;
  return standing;
}

// The greedy choice, from the first votes on.
class Votes {
 public:
  Votes(const Judge& judge, const std::vector<std::vector<double>>& predicted,
        const std::vector<size_t>& first)
      : judge_(judge), predicted_(predicted), votes_(predicted.size(), 0), sum_(predicted.front().size()) {
    for (const size_t k : first) give(k);
    standing_ = standing_of(judge_, mean_with({}, 0));
    while (count_ < kMostVotes && add_best()) {
    }
  }

  const Standing& standing() const { return standing_; }
  std::vector<double> weights() const {
    std::vector<double> weights;
    for (const int each : votes_) weights.push_back(static_cast<double>(each) / count_);
    return weights;
  }

 private:
  void give(size_t k) {
    ++votes_[k];
    ++count_;
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += predicted_[k][i];
  }

  std::vector<double> mean_with(std::span<const double> one_more, int more) const {
    std::vector<double> mean(sum_.size());
    for (size_t i = 0; i < sum_.size(); ++i)
      mean[i] = (sum_[i] + (more > 0 ? one_more[i] : 0.0)) / (count_ + more);
    return mean;
  }

  // Whether a vote more makes it better.
  bool add_best() {
    std::optional<size_t> best;
    for (size_t k = 0; k < predicted_.size(); ++k) {
      const Standing standing = standing_of(judge_, mean_with(predicted_[k], 1));
      if (!(standing > standing_)) continue;
      standing_ = standing;
      best = k;
    }
    if (best) give(*best);
    return best.has_value();
  }

  const Judge& judge_;
  const std::vector<std::vector<double>>& predicted_;
  std::vector<int> votes_;
  std::vector<double> sum_;
  int count_ = 0;
  Standing standing_;
};

}  // namespace

size_t best_alone(const Judge& judge, const std::vector<std::vector<double>>& predicted) {
  QW_ASSERT(!predicted.empty());
  size_t best = 0;
  Standing leader = standing_of(judge, predicted[0]);
  for (size_t k = 1; k < predicted.size(); ++k) {
    const Standing standing = standing_of(judge, predicted[k]);
    if (!(standing > leader)) continue;
    best = k;
    leader = standing;
  }
  return best;
}

std::vector<double> select_ensemble(const Judge& judge, const std::vector<std::vector<double>>& predicted) {
  std::vector<size_t> order(predicted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Standing> standings;
  standings.reserve(predicted.size());
  for (const std::vector<double>& each : predicted) standings.push_back(standing_of(judge, each));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return standings[a] > standings[b]; });
  const double best_loss = standings[order.front()].loss;
  std::vector<size_t> first;
  for (const size_t k : order) {
    if (first.size() < kFirstVotes && standings[k].loss <= kFarBehind * best_loss) first.push_back(k);
  }
  if (first.empty()) first.push_back(order.front());  // no loss is a number
  return Votes(judge, predicted, first).weights();
}

}  // namespace qw
