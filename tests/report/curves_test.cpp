#include "report/curves.h"

#include <cmath>

#include "qw/core/random.h"
#include "qw/metrics/metrics.h"
#include "support/support.h"

namespace qw {
namespace {

constexpr double kAll = 1e9;  // points: nothing is left out

// Scores of one digit have ties.
struct Case {
  std::vector<int32_t> truth;
  std::vector<double> probability;  // [n * 2]
  std::vector<Ranked> ranked;
};

Case draw(uint64_t seed, int64_t n, bool ties) {
  const RandomStream stream(seed, 1);
  Case drawn;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t truth = stream.uniform(2 * i) < 0.3 ? 1 : 0;
    double score = 0.7 * stream.uniform(2 * i + 1) + 0.3 * truth;
    if (ties) score = std::round(10 * score) / 10;
    drawn.truth.push_back(truth);
    drawn.probability.insert(drawn.probability.end(), {1 - score, score});
    drawn.ranked.push_back({score, truth == 1 ? 1.0 : -1.0});
  }
  return drawn;
}

double trapezoids(const std::vector<double>& x, const std::vector<double>& y) {
  double area = 0;
  for (size_t i = 1; i < x.size(); ++i) area += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2;
  return area;
}

TEST(Curves, AreasBelowThemAreTheMetrics) {
  for (const bool ties : {false, true}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Case drawn = draw(seed, 150, ties);
      const RankingCurves curves = ranking_curves(drawn.ranked, kAll);
      const ClassPredictions predictions{.classes = 2,
                                         .truth = drawn.truth,
                                         .predicted = drawn.truth,
                                         .probability = drawn.probability,
                                         .weights = {}};
      EXPECT_EQ(curves.roc_auc, class_metric("roc_auc", predictions));
      EXPECT_EQ(curves.average_precision, class_metric("average_precision", predictions));
      EXPECT_NEAR(trapezoids(curves.false_positive, curves.true_positive), curves.roc_auc, 1e-12);
      EXPECT_NEAR(trapezoids(curves.recall, curves.precision), curves.average_precision, 1e-12)
          << "steps are trapezoids of level tops";
    }
  }
}

TEST(Curves, PointsAreThoseOfAllThresholds) {
  const Case drawn = draw(7, 60, true);
  const RankingCurves curves = ranking_curves(drawn.ranked, kAll);
  size_t found = 0;
  for (int k = 0; k <= 20; ++k) {
    const double threshold = k / 20.0;
    double right = 0, wrong = 0;
    for (const Ranked& node : drawn.ranked)
      if (node.score >= threshold) (node.signed_weight > 0 ? right : wrong) += 1;
    const double x = wrong / static_cast<double>(curves.negatives),
                 y = right / static_cast<double>(curves.positives);
    for (size_t i = 0; i < curves.true_positive.size(); ++i)
      found += std::fabs(curves.false_positive[i] - x) + std::fabs(curves.true_positive[i] - y) < 1e-12;
  }
  EXPECT_EQ(found, 21u) << "each threshold is one point";
  EXPECT_EQ(curves.positives + curves.negatives, 60);
  EXPECT_EQ(curves.false_positive.front(), 0);
  EXPECT_EQ(curves.true_positive.front(), 0);
  EXPECT_EQ(curves.false_positive.back(), 1);
  EXPECT_EQ(curves.recall.back(), 1);
}

TEST(Curves, ThinnedOnesAreSmallAndNear) {
  const Case drawn = draw(3, 20000, false);
  const RankingCurves curves = ranking_curves(drawn.ranked, 100), all = ranking_curves(drawn.ranked, kAll);
  EXPECT_LE(curves.false_positive.size(), 102u);
  EXPECT_LE(curves.recall.size(), 202u);
  EXPECT_EQ(curves.roc_auc, all.roc_auc);
  EXPECT_NEAR(trapezoids(curves.false_positive, curves.true_positive), all.roc_auc, 2e-3);
  EXPECT_NEAR(trapezoids(curves.recall, curves.precision), all.average_precision, 1e-2);
}

TEST(Curves, OneKindOfNodeHasNone) {
  const RankingCurves curves = ranking_curves({{0.5, 1}, {0.7, 1}}, kAll);
  EXPECT_EQ(curves.positives, 2);
  EXPECT_TRUE(std::isnan(curves.roc_auc));
  EXPECT_TRUE(curves.recall.empty());
  EXPECT_TRUE(ranking_curves({}, kAll).false_positive.empty());
  EXPECT_TRUE(mean_curves({curves}).at.empty());
}

TEST(Curves, TheMeanIsTakenAtEachRate) {
  // One ranks without a mistake, the other says nothing: a diagonal, and the share of positives.
  const RankingCurves best = ranking_curves({{0.9, 1}, {0.1, -1}}, kAll);
  const RankingCurves blind = ranking_curves({{0.5, 1}, {0.5, -1}, {0.5, -1}, {0.5, -1}}, kAll);
  const MeanCurves mean = mean_curves({best, blind, ranking_curves({}, kAll)});
  ASSERT_EQ(mean.at.size(), 101u);
  for (size_t i = 0; i < mean.at.size(); ++i) {
    EXPECT_NEAR(mean.true_positive[i], (1 + mean.at[i]) / 2, 1e-12);
    EXPECT_NEAR(mean.precision[i], (1 + 0.25) / 2, 1e-12);
  }
}

}  // namespace
}  // namespace qw
