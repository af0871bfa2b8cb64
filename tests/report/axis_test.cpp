#include "report/axis.h"

#include <cmath>
#include <random>

#include "support/support.h"

namespace qw {
namespace {

using Labels = std::vector<std::string>;

TEST(Axis, TicksAreRound) {
  const Axis percent = make_axis(1, 60, false, 6);
  EXPECT_EQ(percent.ticks, (std::vector<double>{0, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(percent.labels, (Labels{"0", "10", "20", "30", "40", "50", "60"}));
  EXPECT_EQ(make_axis(0.31, 0.69, false, 5).ticks, (std::vector<double>{0.3, 0.4, 0.5, 0.6, 0.7}));
  EXPECT_EQ(make_axis(-1, 1, false, 4).labels, (Labels{"−1.0", "−0.5", "0.0", "0.5", "1.0"}));
  EXPECT_EQ(make_axis(0, 9000, false, 5).labels, (Labels{"0", "2,000", "4,000", "6,000", "8,000", "10,000"}));
  EXPECT_EQ(make_axis(0, 2e9, false, 2).labels, (Labels{"0", "1000000000", "2000000000"}));
  EXPECT_EQ(make_axis(0, 2e-7, false, 2).labels, (Labels{"0", "1e-07", "2e-07"}));
}

TEST(Axis, HoldsWhatItIsFor) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> mantissa(-10, 10), exponent(-12, 12);
  for (int repeat = 0; repeat < 2000; ++repeat) {
    const double a = mantissa(random) * std::pow(10, exponent(random));
    const double b = mantissa(random) * std::pow(10, exponent(random));
    const int most = 2 + repeat % 8;
    const Axis axis = make_axis(std::min(a, b), std::max(a, b), false, most);
    const double step = axis.ticks[1] - axis.ticks[0], slack = 1e-6 * step;
    EXPECT_LE(axis.low, std::min(a, b) + slack);
    EXPECT_GE(axis.high, std::max(a, b) - slack);
    EXPECT_GT(axis.low + step, std::min(a, b) - slack) << "no step is wasted";
    EXPECT_LT(axis.high - step, std::max(a, b) + slack);
    EXPECT_LE(axis.ticks.size(), static_cast<size_t>(most) + 2);
    EXPECT_EQ(axis.ticks.front(), axis.low);
    EXPECT_EQ(axis.ticks.back(), axis.high);
    const double lead = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    EXPECT_LT(std::min({std::fabs(lead - 1), std::fabs(lead - 2), std::fabs(lead - 5)}), 1e-6) << step;
    for (size_t i = 1; i < axis.labels.size(); ++i) EXPECT_NE(axis.labels[i], axis.labels[i - 1]);
  }
}

TEST(Axis, ShareIsLinearInValuesOrInTheirLogarithms) {
  const Axis plain = make_axis(0, 10, false, 5);
  EXPECT_DOUBLE_EQ(plain.share(2.5), 0.25);
  EXPECT_EQ(plain.share(-1), 0) << "held at the end";
  EXPECT_EQ(plain.share(11), 1);
  const Axis log = make_axis(0.01, 1000, true, 6);
  EXPECT_DOUBLE_EQ(log.share(0.01), 0);
  EXPECT_NEAR(log.share(1), 0.4, 1e-12);
  EXPECT_NEAR(log.share(std::sqrt(10.0)), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(log.share(1000), 1);
  EXPECT_EQ(log.share(0), 0);
  EXPECT_EQ(log.share(-5), 0);
}

TEST(Axis, DecadesOfALogAxis) {
  const Axis axis = make_axis(0.01, 1000, true, 6);
  EXPECT_EQ(axis.labels, (Labels{"0.01", "0.1", "1", "10", "100", "1,000"}));
  EXPECT_EQ(axis.low, 0.01);
  EXPECT_EQ(axis.high, 1000);
  EXPECT_EQ(axis.minor.size(), 5U * 8U) << "2 to 9 of each decade";
  EXPECT_EQ(make_axis(0.02, 0.5, true, 6).labels, (Labels{"0.01", "0.1", "1"}));
  EXPECT_EQ(make_axis(1e-5, 1, true, 8).labels, (Labels{"10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"}));
  const Axis strided = make_axis(1e-10, 1e2, true, 4);
  EXPECT_EQ(strided.labels, (Labels{"10⁻¹⁰", "10⁻⁷", "10⁻⁴", "10⁻¹", "10²"}));
  EXPECT_EQ(strided.minor.size(), 8U) << "the decades between";
}

TEST(Axis, EqualEndsGetRoom) {
  for (const double value : {0.0, 5.0, -0.7, 1e-12, 1e200, 1e-300}) {
    const Axis axis = make_axis(value, value, false, 5);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_GE(axis.ticks.size(), 2U);
  }
  const Axis log = make_axis(10, 10, true, 5);
  EXPECT_EQ(log.low, 1);
  EXPECT_EQ(log.high, 100);
}

TEST(Axis, KnowsWhatItCannotShow) {
  EXPECT_TRUE(can_show(-3, false));
  EXPECT_FALSE(can_show(-3, true));
  EXPECT_FALSE(can_show(0, true));
  EXPECT_FALSE(can_show(NAN, false));
  EXPECT_FALSE(can_show(-INFINITY, false));
  EXPECT_FALSE(can_show(1e300, false)) << "differences would overflow";
}

}  // namespace
}  // namespace qw
