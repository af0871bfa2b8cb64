#include "qw/metrics/conformal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/random.h"

namespace qw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> one_to(int count) {
  std::vector<double> scores(count);
  std::iota(scores.rbegin(), scores.rend(), 1.0);
  return scores;
}

TEST(Conformal, ThresholdIsTheOrderStatisticOfTheTheorem) {
  EXPECT_EQ(conformal_threshold(one_to(9), 0.9), 9);    // ceil(10 * 0.9)
  EXPECT_EQ(conformal_threshold(one_to(10), 0.9), 10);  // ceil(9.9)
  EXPECT_EQ(conformal_threshold(one_to(19), 0.9), 18);
  EXPECT_EQ(conformal_threshold(one_to(99), 0.07), 7);  // 100 * 0.07 is a little above 7 in doubles
  EXPECT_EQ(conformal_threshold(one_to(9), 0.95), kInfinity);
  EXPECT_EQ(conformal_threshold({}, 0.5), kInfinity);
  EXPECT_EQ(conformal_threshold({2, 2, 2, 1, 5}, 0.5), 2);
}

TEST(Conformal, WholeRanksAreExactForEveryPercentage) {
  for (int n = 1; n < 400; ++n) {
    for (int percent = 1; percent < 100; ++percent) {
      const int rank = ((n + 1) * percent + 99) / 100;
      EXPECT_EQ(conformal_threshold(one_to(n), percent / 100.0), rank > n ? kInfinity : rank)
          << n << " scores, " << percent << " %";
    }
  }
}

// The share of new scores within the threshold, over draws of calibration scores, is known exactly.
TEST(Conformal, CoverageFollowsTheExactLaw) {
  for (const auto& [n, coverage] : {std::pair{20, 0.9}, {50, 0.8}, {99, 0.95}}) {
    const RandomStream random(5, static_cast<uint64_t>(n));
    constexpr int kDraws = 2000, kNew = 100;
    int64_t covered = 0;
    uint64_t counter = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> scores(n);
      for (double& score : scores) score = random.normal(counter++);
      const double threshold = conformal_threshold(scores, coverage);
      for (int i = 0; i < kNew; ++i) covered += random.normal(counter++) <= threshold;
    }
    EXPECT_NEAR(static_cast<double>(covered) / (kDraws * kNew), std::ceil((n + 1) * coverage) / (n + 1),
                0.005);
  }
}

TEST(Conformal, ThinnedScoresNeverGiveALowerThreshold) {
  const RandomStream random(8, 8);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> scores(1 + random.below(4 * trial, 500));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = std::round(100 * random.uniform(1000 * trial + i));
    const auto most = static_cast<int64_t>(1 + random.below(4 * trial + 1, 60));
    const auto kept = thinned(scores, most);
    EXPECT_EQ(kept.size(), std::min<size_t>(most, scores.size()));
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    EXPECT_EQ(kept.back(), *std::max_element(scores.begin(), scores.end()));
    for (const double coverage : {0.1, 0.5, 0.8, 0.9, 0.95, 0.99}) {
      EXPECT_GE(conformal_threshold(kept, coverage), conformal_threshold(scores, coverage));
    }
    if (kept.size() == scores.size()) {
      EXPECT_EQ(conformal_threshold(kept, 0.8), conformal_threshold(scores, 0.8));
    }
  }
}

TEST(Conformal, ThinnedScoresAreNearlyAsSharp) {
  const auto kept = thinned(one_to(100000), 1000);
  const double exact = conformal_threshold(one_to(100000), 0.9);
  EXPECT_LE(conformal_threshold(kept, 0.9), exact + 200);
  EXPECT_EQ(conformal_threshold(kept, 0.9995), kInfinity);
}

TEST(Conformal, SetsOfClasses) {
  const std::vector<double> probability = {0.7, 0.2, 0.1, 0.4, 0.35, 0.25};
  EXPECT_THAT(class_scores(probability, 3, std::vector<int32_t>{0, 2}),
              testing::ElementsAre(1 - 0.7, 1 - 0.25));
  EXPECT_THAT(class_sets(probability, 3, 1 - 0.35), testing::ElementsAre(1, 0, 0, 1, 1, 0));
  EXPECT_THAT(class_sets(probability, 3, 0.5), testing::ElementsAre(1, 0, 0, 0, 0, 0));  // one is empty
  EXPECT_THAT(class_sets(probability, 3, kInfinity), testing::Each(1));
}

TEST(Conformal, ScoresOfValuesAreByColumnAndSkipTheUnknown) {
  const double nan = std::nan("");
  const std::vector<double> predicted = {1, 10, 2, 20, 3, 30}, truth = {1.5, 7, nan, 20, 1, nan};
  EXPECT_THAT(value_scores(predicted, truth, 2, 0), testing::ElementsAre(0.5, 2));
  EXPECT_THAT(value_scores(predicted, truth, 2, 1), testing::ElementsAre(3, 0));
}

// One node in fifty has the label: both kinds of node are covered, which a single threshold would not do.
TEST(Conformal, RareLabelsAreCoveredToo) {
  const RandomStream random(12, 3);
  const auto draw = [&](int64_t nodes, uint64_t first, std::vector<double>& truth, std::vector<double>& p) {
    for (int64_t i = 0; i < nodes; ++i) {
      truth.push_back(random.uniform(first + 2 * i) < 0.02 ? 1 : 0);
      p.push_back(1 / (1 + std::exp(4 - 2 * truth.back() - random.normal(first + 2 * i + 1))));
    }
  };
  std::vector<double> truth, p, new_truth, new_p;
  draw(20000, 0, truth, p);
  draw(100000, 1000000, new_truth, new_p);
  const double zero = conformal_threshold(label_scores(p, truth, 1, 0, 0), 0.9);
  const double one = conformal_threshold(label_scores(p, truth, 1, 0, 1), 0.9);
  double covered[2] = {}, all[2] = {};
  for (size_t i = 0; i < new_p.size(); ++i) {
    const LabelSet set = label_set(new_p[i], zero, one);
    covered[new_truth[i] == 1] += new_truth[i] == 1 ? set.one : set.zero;
    all[new_truth[i] == 1] += 1;
  }
  EXPECT_NEAR(covered[0] / all[0], 0.9, 0.01);
  EXPECT_NEAR(covered[1] / all[1], 0.9, 0.04);
}

TEST(Conformal, ErrorsSayWhatIsWrong) {
  for (const double coverage : {0.0, 1.0, -1.0, 90.0, std::nan("")}) {
    EXPECT_THROW(conformal_threshold({1, 2}, coverage), UsageError);
  }
  try {
    conformal_threshold({1, 2}, 90);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the coverage is 90, expected a number between 0 and 1"));
  }
  try {
    conformal_threshold({1, std::nan("")}, 0.9);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("score 1 is not a number"));
  }
  EXPECT_THROW(thinned({std::nan("")}, 10), Error);
}

}  // namespace
}  // namespace qw
