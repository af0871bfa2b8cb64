#include "study/fit/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int kMostVotes = 30;
constexpr size_t kFirstVotes = 3;

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
  for (const std::vector<double>& each : predicted) standings.push_back(standing_of(judge, each));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return standings[a] > standings[b]; });
  order.resize(std::min(order.size(), kFirstVotes));
  std::vector<int> votes(predicted.size(), 0);
  std::vector<double> sum(predicted.front().size(), 0.0), tried(sum.size());
  for (const size_t k : order) {
    ++votes[k];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += predicted[k][i];
  }
  const auto first = static_cast<int>(order.size());
  std::transform(sum.begin(), sum.end(), tried.begin(), [&](double each) { return each / first; });
  Standing leader = standing_of(judge, tried);
  for (int count = first; count < kMostVotes; ++count) {
    size_t best = predicted.size();
    for (size_t k = 0; k < predicted.size(); ++k) {
      for (size_t i = 0; i < sum.size(); ++i) tried[i] = (sum[i] + predicted[k][i]) / (count + 1);
      const Standing standing = standing_of(judge, tried);
      if (!(standing > leader)) continue;
      leader = standing;
      best = k;
    }
    if (best == predicted.size()) break;
    ++votes[best];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += predicted[best][i];
  }
  int total = 0;
  for (const int each : votes) total += each;
  std::vector<double> weights;
  for (const int each : votes) weights.push_back(static_cast<double>(each) / total);
  return weights;
}

}  // namespace qw
