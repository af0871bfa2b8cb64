#include "qw/metrics/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"

namespace qw {
namespace {

struct Sample {
  int64_t classes = 0;
  std::vector<double> logits;
  std::vector<int32_t> truth;
};

// Truths drawn from softmax(logits / temperature).
Sample drawn(int64_t nodes, int64_t classes, double temperature, uint64_t seed) {
  const RandomStream random(seed, 11);
  Sample sample{classes, {}, {}};
  for (int64_t i = 0; i < nodes * classes; ++i) sample.logits.push_back(4 * random.normal(i));
  const auto probability = softmax_rows(sample.logits, classes, temperature);
  for (int64_t i = 0; i < nodes; ++i) {
    double left = random.uniform(nodes * classes + i);
    int32_t truth = 0;
    while (truth + 1 < classes && (left -= probability[i * classes + truth]) > 0) ++truth;
    sample.truth.push_back(truth);
  }
  return sample;
}

double loss(const Sample& sample, double temperature) {
  const auto probability = softmax_rows(sample.logits, sample.classes, temperature);
  double sum = 0;
  for (size_t i = 0; i < sample.truth.size(); ++i) {
    sum -= std::log(probability[i * sample.classes + sample.truth[i]]);
  }
  return sum;
}

double fit(const Sample& sample) { return fit_temperature(sample.logits, sample.classes, sample.truth); }

TEST(Temperature, TwoClassesWithOneMarginHaveAClosedForm) {
  // Logits +-a, right in 3 of 4: sigmoid(2 a / T) = 3/4, so T = 2 a / log 3.
  for (const double a : {0.05, 1.0, 40.0}) {
    const std::vector<double> logits = {a, -a, a, -a, -a, a, -a, a};
    EXPECT_NEAR(fit_temperature(logits, 2, std::vector<int32_t>{0, 0, 1, 0}) / (2 * a / std::log(3)), 1,
                1e-10);
    const std::vector<double> labels = {2 * a, 2 * a, -2 * a, -2 * a, 17}, truth = {1, 1, 0, 1, std::nan("")};
    EXPECT_NEAR(fit_label_temperature(labels, truth) / (2 * a / std::log(3)), 1, 1e-10);
  }
}

TEST(Temperature, NoPointOfAGridIsBetter) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Sample sample =
        drawn(80, 2 + static_cast<int64_t>(seed) % 5, 0.4 * static_cast<double>(seed), seed);
    const double best = loss(sample, fit(sample));
    for (double t = kLeastTemperature; t < kMostTemperature; t *= 1.003) {
      EXPECT_LE(best, loss(sample, t) * (1 + 1e-12)) << "seed " << seed << " T " << t;
    }
  }
}

TEST(Temperature, FindsWhatTheTruthsWereDrawnWith) {
  EXPECT_NEAR(fit(drawn(20000, 5, 2.5, 4)), 2.5, 0.1);
  EXPECT_NEAR(fit(drawn(20000, 3, 0.8, 4)), 0.8, 0.05);
}

TEST(Temperature, ScalesWithTheLogitsAndNotWithAShiftOfRows) {
  Sample sample = drawn(200, 4, 1.5, 9);
  const double before = fit(sample);
  for (size_t at = 0; at < sample.logits.size(); ++at) {
    sample.logits[at] = 8 * (sample.logits[at] + static_cast<double>(at / 4));
  }
  EXPECT_NEAR(fit(sample) / before, 8, 1e-8);
}

TEST(Temperature, LimitsWhereTheBestLiesBeyondThem) {
  const std::vector<double> logits = {3, 0, 0, 2};
  EXPECT_EQ(fit_temperature(logits, 2, std::vector<int32_t>{0, 1}), kLeastTemperature);
  EXPECT_EQ(fit_temperature(logits, 2, std::vector<int32_t>{1, 0}), kMostTemperature);
  // So sure that the derivative underflows.
  EXPECT_EQ(fit_temperature(std::vector<double>{9000, 0}, 2, std::vector<int32_t>{0}), kLeastTemperature);
  EXPECT_EQ(fit_label_temperature(std::vector<double>{5, -2}, std::vector<double>{1, 0}), kLeastTemperature);
  EXPECT_EQ(fit_label_temperature(std::vector<double>{5, -2}, std::vector<double>{0, 1}), kMostTemperature);
}

TEST(Temperature, OneWhereAllAreAsGood) {
  EXPECT_EQ(fit_temperature({}, 3, {}), 1.0);
  EXPECT_EQ(fit_temperature(std::vector<double>{2, 2, 2, -1, -1, -1}, 3, std::vector<int32_t>{0, 2}), 1.0);
  EXPECT_EQ(fit_label_temperature({}, {}), 1.0);
  EXPECT_EQ(fit_label_temperature(std::vector<double>{0, 4}, std::vector<double>{1, std::nan("")}), 1.0);
}

TEST(Temperature, SameBitsForAnyNumberOfThreads) {
  const Sample sample = drawn(30000, 3, 1.7, 2);
  const int threads = thread_count();
  set_thread_count(1);
  const double one = fit(sample);
  set_thread_count(5);
  EXPECT_EQ(fit(sample), one);
  set_thread_count(threads);
}

TEST(Temperature, ErrorsSayWhatIsWrong) {
  const auto error_of = [](std::vector<double> logits, std::vector<int32_t> truth) {
    try {
      fit_temperature(logits, 2, truth);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of({0, 1, 0, INFINITY}, {0, 1}), testing::HasSubstr("score 1 of entry 1 is inf"));
  EXPECT_THAT(error_of({0, 1}, {2}),
              testing::HasSubstr("the true class of entry 0 is 2, expected one of 0 .. 1"));
  EXPECT_THAT(error_of({0, 1, 2}, {0}), testing::HasSubstr("logits has 3 entries, expected 2"));
}

TEST(Softmax, SurvivesLargeLogitsAndCertainty) {
  const auto row = softmax_rows(std::vector<double>{1e4, 1e4 - std::log(3), -INFINITY}, 3);
  EXPECT_NEAR(row[0], 0.75, 1e-12);
  EXPECT_NEAR(row[1], 0.25, 1e-12);
  EXPECT_EQ(row[2], 0.0);
  EXPECT_EQ(sigmoid(INFINITY), 1.0);
  EXPECT_EQ(sigmoid(-INFINITY), 0.0);
  EXPECT_EQ(sigmoid(0), 0.5);
  EXPECT_NEAR(sigmoid(-700) / std::exp(-700), 1, 1e-12);
  EXPECT_EQ(sigmoids(std::vector<double>{3}, 2.0)[0], sigmoid(1.5));
}

}  // namespace
}  // namespace qw
