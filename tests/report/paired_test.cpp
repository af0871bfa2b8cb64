#include "qw/report/paired.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

TEST(StudentT, HasTheValuesOfTheTables) {
  // Two-sided 95 %, 99 % and 90 %.
  EXPECT_NEAR(student_t(0.95, 1), 12.706204736, 1e-8);
  EXPECT_NEAR(student_t(0.95, 2), 4.302652730, 1e-8);
  EXPECT_NEAR(student_t(0.95, 3), 3.182446305, 1e-8);
  EXPECT_NEAR(student_t(0.95, 4), 2.776445105, 1e-8);
  EXPECT_NEAR(student_t(0.95, 5), 2.570581836, 1e-8);
  EXPECT_NEAR(student_t(0.95, 9), 2.262157163, 1e-8);
  EXPECT_NEAR(student_t(0.95, 10), 2.228138852, 1e-8);
  EXPECT_NEAR(student_t(0.95, 30), 2.042272456, 1e-8);
  EXPECT_NEAR(student_t(0.95, 120), 1.979930405, 1e-8);
  EXPECT_NEAR(student_t(0.99, 9), 3.249835542, 1e-8);
  EXPECT_NEAR(student_t(0.90, 9), 1.833112933, 1e-8);
}

TEST(StudentT, HasItsClosedForms) {
  for (const double coverage : {0.01, 0.5, 0.9, 0.95, 0.999}) {
    EXPECT_NEAR(student_t(coverage, 1) / std::tan(std::numbers::pi / 2 * coverage), 1, 1e-10);
    EXPECT_NEAR(student_t(coverage, 2) / (coverage * std::sqrt(2 / (1 - coverage * coverage))), 1, 1e-10);
  }
}

TEST(StudentT, EndsAtTheNormalDistribution) {
  EXPECT_NEAR(student_t(0.95, 1000000), 1.959963985 + (std::pow(1.96, 3) + 1.96) / 4e6, 1e-8);
}

TEST(StudentT, RefusesWhatHasNoQuantile) {
  EXPECT_EQ(error_of([] { student_t(1, 3); }),
            "student_t: coverage 1 must be in (0, 1) and degrees 3 at least 1");
  EXPECT_EQ(error_of([] { student_t(0.5, 0); }),
            "student_t: coverage 0.5 must be in (0, 1) and degrees 0 at least 1");
}

// All choices of signs, one by one.
double slow_p_value(const std::vector<double>& differences) {
  std::vector<double> given;
  for (const double difference : differences) {
    if (difference != 0) given.push_back(difference);
  }
  const size_t n = given.size();
  std::vector<double> rank(n);
  for (size_t i = 0; i < n; ++i) {
    double below = 0, equal = 0;
    for (size_t j = 0; j < n; ++j) {
      below += std::fabs(given[j]) < std::fabs(given[i]);
      equal += std::fabs(given[j]) == std::fabs(given[i]);
    }
    rank[i] = below + (equal + 1) / 2;
  }
  const auto unevenness = [&](auto&& is_positive) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += is_positive(i) ? rank[i] : -rank[i];
    return std::fabs(sum);
  };
  const double observed = unevenness([&](size_t i) { return given[i] > 0; });
  int64_t as_uneven = 0;
  for (uint32_t signs = 0; signs < (1U << n); ++signs) {
    as_uneven += unevenness([&](size_t i) { return (signs >> i & 1) != 0; }) >= observed;
  }
  return std::ldexp(static_cast<double>(as_uneven), -static_cast<int>(n));
}

TEST(Wilcoxon, CountsAllChoicesOfSigns) {
  std::mt19937 random(7);
  for (int n = 1; n <= 12; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> differences;
      for (int i = 0; i < n; ++i) {
        differences.push_back(static_cast<double>(static_cast<int>(random() % 9)) - 3);  // ties and zeros
      }
      EXPECT_DOUBLE_EQ(wilcoxon_p_value(differences), slow_p_value(differences));
    }
  }
}

TEST(Wilcoxon, KnownValues) {
  const std::vector<double> all_up{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_DOUBLE_EQ(wilcoxon_p_value(all_up), 2.0 / 1024);
  // Sums 40 and 5 of nine ranks: 0 to 5 are sums of different parts in 1 + 1 + 1 + 2 + 2 + 3 = 10 ways.
  EXPECT_DOUBLE_EQ(wilcoxon_p_value(std::vector<double>{-1, 2, 3, -4, 5, 6, 7, 8, 9}), 20.0 / 512);
  EXPECT_EQ(wilcoxon_p_value(std::vector<double>{0, 0, 0}), 1);
  EXPECT_EQ(wilcoxon_p_value(std::vector<double>{}), 1);
}

TEST(Wilcoxon, TheNormalDistributionTakesOver) {
  // n = 26, a negative sum of 108: near the share of choices of signs by counting them.
  std::vector<double> differences, ways(109, 0.0);
  ways[0] = 1;
  for (int i = 1; i <= 26; ++i) {
    differences.push_back(i % 3 == 0 ? -i : i);
    for (int sum = 108; sum >= i; --sum) ways[sum] += ways[sum - i];
  }
  double exact = 0;
  for (const double each : ways) exact += 2 * std::ldexp(each, -26);
  EXPECT_NEAR(wilcoxon_p_value(differences), exact, 1e-3);
  // n = 30, all positive: z = (465 / 2 - 0.5) / sqrt(30 * 31 * 61 / 24).
  std::vector<double> rising(30);
  for (int i = 0; i < 30; ++i) rising[i] = i + 1;
  const double z = (465.0 / 2 - 0.5) / std::sqrt(30.0 * 31 * 61 / 24);
  EXPECT_NEAR(wilcoxon_p_value(rising) / std::erfc(z / std::sqrt(2.0)), 1, 1e-12);
}

TEST(Paired, DifferenceAndIntervalByHand) {
  // Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3).
  const std::vector<double> baseline{10, 20, 30}, candidate{11, 22, 33};
  const PairedComparison up = compare_paired(baseline, candidate, true);
  EXPECT_EQ(up.pairs, 3);
  EXPECT_DOUBLE_EQ(up.difference, 2);
  EXPECT_NEAR(up.half_width, 4.302652730 / std::sqrt(3.0), 1e-8);
  EXPECT_EQ(up.wins, 3);
  EXPECT_EQ(up.ties + up.losses, 0);
  EXPECT_DOUBLE_EQ(up.p_value, 0.25);
  EXPECT_EQ(up.verdict, Verdict::kUndecided) << "2 +- 2.48 has 0 in it";
}

TEST(Paired, DirectionTurnsWinsAndVerdict) {
  const std::vector<double> baseline{1, 2, 3, 4, 5}, candidate{1.5, 2.6, 3.4, 4.5, 5};
  const PairedComparison up = compare_paired(baseline, candidate, true);
  const PairedComparison down = compare_paired(baseline, candidate, false);
  const PairedComparison swapped = compare_paired(candidate, baseline, true);
  EXPECT_EQ(up.verdict, Verdict::kHelps);
  EXPECT_EQ(down.verdict, Verdict::kHurts);
  EXPECT_EQ(swapped.verdict, Verdict::kHurts);
  EXPECT_EQ(compare_paired(candidate, baseline, false).verdict, Verdict::kHelps);
  EXPECT_EQ(up.difference, down.difference);
  EXPECT_EQ(up.difference, -swapped.difference);
  EXPECT_EQ(up.wins, 4);
  EXPECT_EQ(up.ties, 1);
  EXPECT_EQ(down.losses, 4);
  EXPECT_EQ(up.p_value, swapped.p_value);
  EXPECT_LT(up.lower(), up.difference);
  EXPECT_GT(up.lower(), 0);
}

TEST(Paired, RoundingIsNoDifference) {
  // 0.1 + 0.2 is not 0.3, and the other steps are a tenth but for rounding: one tie, two equal ranks.
  const std::vector<double> baseline{0.3, 0.1, 0.7}, candidate{0.1 + 0.2, 0.2, 0.6};
  const PairedComparison result = compare_paired(baseline, candidate, true);
  EXPECT_EQ(result.wins, 1);
  EXPECT_EQ(result.ties, 1);
  EXPECT_EQ(result.losses, 1);
  EXPECT_EQ(result.p_value, 1) << "the ranks are equal";
}

TEST(Paired, EqualRunsAreUndecidedAndConstantGainsAreNot) {
  const std::vector<double> values{1, 2, 3};
  const PairedComparison same = compare_paired(values, values, true);
  EXPECT_EQ(same.difference, 0);
  EXPECT_EQ(same.half_width, 0);
  EXPECT_EQ(same.ties, 3);
  EXPECT_EQ(same.p_value, 1);
  EXPECT_EQ(same.verdict, Verdict::kUndecided);
  const PairedComparison constant = compare_paired(values, std::vector<double>{2, 3, 4}, true);
  EXPECT_EQ(constant.half_width, 0);
  EXPECT_EQ(constant.verdict, Verdict::kHelps);
}

TEST(Paired, TheIntervalCoversAsOftenAsItSays) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0.3, 1);
  constexpr int kRepeats = 20000;
  int covered = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> baseline(6, 0.0), candidate(6);
    std::generate(candidate.begin(), candidate.end(), [&] { return normal(random); });
    const PairedComparison result = compare_paired(baseline, candidate, true);
    covered += result.lower() <= 0.3 && 0.3 <= result.upper();
  }
  EXPECT_NEAR(static_cast<double>(covered) / kRepeats, 0.95, 4 * std::sqrt(0.95 * 0.05 / kRepeats));
}

TEST(Paired, VerdictsHaveNames) {
  EXPECT_STREQ(verdict_name(Verdict::kHelps), "helps");
  EXPECT_STREQ(verdict_name(Verdict::kHurts), "hurts");
  EXPECT_STREQ(verdict_name(Verdict::kUndecided), "undecided");
}

TEST(Paired, RefusesWhatCannotBePaired) {
  const std::vector<double> two{1, 2}, three{1, 2, 3}, one{1}, none;
  EXPECT_EQ(error_of([&] { compare_paired(two, three, true); }),
            "paired comparison: 2 values against 3; every value needs its partner");
  EXPECT_EQ(error_of([&] { compare_paired(one, one, true); }),
            "paired comparison: fewer than two pairs have no interval; add runs with other seeds");
  EXPECT_EQ(error_of([&] { compare_paired(none, none, true); }),
            "paired comparison: fewer than two pairs have no interval; add runs with other seeds");
  EXPECT_EQ(error_of([&] {
              compare_paired(two, std::vector<double>{1, NAN}, true);
            }),
            "paired comparison: nan is no number to compare");
}

}  // namespace
}  // namespace qw
