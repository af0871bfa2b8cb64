#include "qw/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace qw {
namespace {

// Known answers of Philox4x32-10 (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffffull),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, BelowIsUniform) {
  const RandomStream random(7, 3);
  std::vector<int> counts(10, 0);
  for (int i = 0; i < 100000; ++i) ++counts[random.below(i, 10)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 27.9);  // 99.9 % of the chi-square distribution with 9 degrees of freedom
}

TEST(RandomStream, StreamsAndSeedsDiffer) {
  EXPECT_NE(RandomStream(1, 0).bits(0), RandomStream(1, 1).bits(0));
  EXPECT_NE(RandomStream(1, 0).bits(0), RandomStream(2, 0).bits(0));
  EXPECT_NE(RandomStream(1, 0).bits(0), RandomStream(1, 0).bits(1));
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  for (const double p : {1e-16, 1e-9, 1e-4, 0.02, 0.024, 0.025, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999999}) {
    const double x = normal_quantile(p);
    const double back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    // The relative error of x, 1.2e-9, times the derivative of log p.
    const double slope = std::abs(x) * std::exp(-x * x / 2) / std::sqrt(2 * M_PI) / p;
    EXPECT_NEAR(back / p, 1.0, 2e-9 * (1 + slope) + 1e-12) << p;
  }
}

TEST(RandomStream, NormalMoments) {
  const RandomStream random(11, 0);
  constexpr int kDraws = 200000;
  double sum = 0, square = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal(i);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 4 / std::sqrt(kDraws));
  EXPECT_NEAR(square / kDraws, 1, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3, 4 * std::sqrt(96.0 / kDraws));
}

// The same bits on every platform: written down once on aarch64, they must hold everywhere.
TEST(RandomStream, BitsAreTheSameOnEveryPlatform) {
  const RandomStream random(2024, 5);
  uint64_t hash = 1469598103934665603ull;
  for (int i = 0; i < 1000; ++i) {
    const double x = random.normal(i);
    uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(x));
    std::memcpy(&bits, &x, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ull;
  }
  EXPECT_EQ(hash, 2077258858833308464ull);
}

}  // namespace
}  // namespace qw
