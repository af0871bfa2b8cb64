#include "report/curves.h"

#include <algorithm>
#include <cmath>

namespace qw {
namespace {

bool exists(const RankingCurves& curves) { return curves.positives > 0 && curves.negatives > 0; }

// Between two points of one place the curve is vertical; its upper end counts.
double true_positive_at(const RankingCurves& curves, double rate) {
  const std::vector<double>& x = curves.false_positive;
  const size_t next = std::upper_bound(x.begin(), x.end(), rate) - x.begin();
  if (next == x.size()) return curves.true_positive.back();
  const double share = (rate - x[next - 1]) / (x[next] - x[next - 1]);
  return curves.true_positive[next - 1] +
         share * (curves.true_positive[next] - curves.true_positive[next - 1]);
}

// Of the step that reaches this recall.
double precision_at(const RankingCurves& curves, double recall) {
  const auto step = std::lower_bound(curves.recall.begin() + 1, curves.recall.end(), recall);
  return curves.precision[step - curves.recall.begin()];
}

}  // namespace

RankingCurves ranking_curves(std::vector<Ranked> nodes, double most) {
  const std::vector<RankedGroup> groups = ranked_groups(std::move(nodes));
  RankingCurves curves{.roc_auc = roc_auc(groups), .average_precision = average_precision(groups)};
  double positives = 0, negatives = 0;
  for (const RankedGroup& group : groups) positives += group.positive, negatives += group.negative;
  curves.positives = std::llround(positives);
  curves.negatives = std::llround(negatives);
  if (!exists(curves)) return curves;
  curves.false_positive = curves.true_positive = {0};
  double right = 0, wrong = 0, drawn_recall = 0;
  for (const RankedGroup& group : groups) {
    right += group.positive, wrong += group.negative;
    const double x = wrong / negatives, y = right / positives;
    const bool is_last = &group == &groups.back();
    const double moved = x - curves.false_positive.back() + y - curves.true_positive.back();
    if (is_last || moved * most >= 2) {
      curves.false_positive.push_back(x);
      curves.true_positive.push_back(y);
    }
    const double gained = y - drawn_recall;
    if (gained == 0 || (y < 1 && gained * most < 1)) continue;
    const double precision = right / (right + wrong);
    curves.recall.insert(curves.recall.end(), {drawn_recall, y});
    curves.precision.insert(curves.precision.end(), {precision, precision});
    drawn_recall = y;
  }
  return curves;
}

MeanCurves mean_curves(const std::vector<RankingCurves>& curves) {
  constexpr int kSteps = 100;
  const auto count = static_cast<double>(std::count_if(curves.begin(), curves.end(), exists));
  MeanCurves mean;
  for (int step = 0; step <= kSteps && count > 0; ++step) {
    const double at = static_cast<double>(step) / kSteps;
    double right = 0, precise = 0;
    for (const RankingCurves& each : curves) {
      if (!exists(each)) continue;
      right += true_positive_at(each, at);
      precise += precision_at(each, at);
    }
    mean.at.push_back(at);
    mean.true_positive.push_back(right / count);
    mean.precision.push_back(precise / count);
  }
  return mean;
}

}  // namespace qw
