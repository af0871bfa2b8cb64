#include "transport/integers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "transport/networks.h"

namespace qw::transport {
namespace {

// A star of edges with these costs, and as many nodes as it needs.
Network network_of(std::vector<double> costs) {
  Network network;
  network.num_nodes = static_cast<int32_t>(costs.size()) + 1;
  for (int32_t v = 1; v < network.num_nodes; ++v) {
    network.sources.push_back(0);
    network.targets.push_back(v);
  }
  network.costs = std::move(costs);
  return network;
}

std::vector<int64_t> costs_of(std::vector<double> costs, int bits) {
  const Network network = network_of(std::move(costs));
  return integers_of(network, std::vector<double>(network.num_nodes, 0.0), bits).costs;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::frexp(value, &exponent) == 0.5;
}

// What the header promises, for any numbers.
void expect_promises(const Network& network, const std::vector<double>& supply, int bits) {
  const Integers integers = integers_of(network, supply, bits);
  EXPECT_TRUE(is_power_of_two(integers.cost_unit)) << integers.cost_unit;
  EXPECT_TRUE(is_power_of_two(integers.supply_unit)) << integers.supply_unit;
  ASSERT_EQ(integers.costs.size(), network.costs.size());
  for (size_t e = 0; e < network.costs.size(); ++e) {
    EXPECT_GE(integers.costs[e], 0);
    EXPECT_LT(integers.costs[e], int64_t{1} << bits);
    const auto cost = static_cast<double>(integers.costs[e]);
    EXPECT_LE(cost * integers.cost_unit, network.costs[e]) << "never rounded up";
    EXPECT_LT(network.costs[e] / integers.cost_unit - cost, 1) << "by less than a unit";
  }
  ASSERT_EQ(integers.supplies.size(), static_cast<size_t>(network.num_nodes));
  EXPECT_EQ(std::accumulate(integers.supplies.begin(), integers.supplies.end(), int64_t{0}), 0);
  uint64_t total = 0;
  for (const int64_t value : integers.supplies) total += static_cast<uint64_t>(std::abs(value));
  EXPECT_LE(total, uint64_t{1} << 52) << "every flow is exact as a double";
  int32_t far = 0;  // one node takes what is too much: the ground, or the largest
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    const auto rounded = static_cast<double>(integers.supplies[v]);
    const bool is_near = std::fabs(rounded - supply[v] / integers.supply_unit) <= 0.5;
    if (v != network.ground && !is_near) ++far;
  }
  EXPECT_LE(far, network.ground == kNoNode ? 1 : 0);
}

TEST(Integers, HoldTheirPromisesForAnyNetwork) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const Costs costs : {Costs::kUnit, Costs::kUniform, Costs::kFewIntegers, Costs::kZero, Costs::kWide})
      for (const int bits : {1, 7, 31, 52}) {
        SCOPED_TRACE(fmt::format("seed {}, costs {}, {} bits", seed, static_cast<int>(costs), bits));
        Shape shape;
        shape.costs = costs;
        shape.supplies = static_cast<Supplies>(seed % 4);
        shape.contracted = seed % 3 == 0 ? 0.3 : 0;
        const Problem problem = random_problem(shape, seed);
        expect_promises(problem.network, problem.supply, bits);
      }
  }
}

TEST(Integers, HoldTheirPromisesForAnySize) {
  constexpr double kTiniest = std::numeric_limits<double>::denorm_min();
  constexpr double kHugest = std::numeric_limits<double>::max();
  for (const double cost : {kTiniest, 3 * kTiniest, 1e-310, 1e-300, 1e-9, 1e9, 1e300, kHugest}) {
    for (const double size : {kTiniest, 1e-310, 1e-300, 1e-9, 1e9, 1e300, kHugest / 4, kHugest}) {
      SCOPED_TRACE(fmt::format("cost {}, supply {}", cost, size));
      expect_promises(network_of({cost, cost / 3}), {size, -size / 2, -size / 2}, 40);
      Network grounded = network_of({cost, 0});
      grounded.ground = 1;
      expect_promises(grounded, {size, 0, size}, 40);
    }
  }
}

TEST(Integers, UnitCostsStayOne) {
  EXPECT_EQ(costs_of({1, 1, 1}, 52), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(costs_of({1, 1, 1}, 1), (std::vector<int64_t>{1, 1, 1}));
}

TEST(Integers, CostsUseNoMoreBitsThanTheyNeed) {
  EXPECT_EQ(costs_of({3, 0, 2}, 52), (std::vector<int64_t>{3, 0, 2}));
  EXPECT_EQ(costs_of({6, 4}, 52), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(costs_of({0.75, 0.5}, 52), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(costs_of({0.5, 0.5}, 52), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(costs_of({0, 0}, 52), (std::vector<int64_t>{0, 0}));
}

TEST(Integers, TooManyBitsAreCutOffTheSmallEnd) {
  EXPECT_EQ(costs_of({7, 5, 1, 0.5}, 2), (std::vector<int64_t>{3, 2, 0, 0}));
  EXPECT_EQ(costs_of({1, 0.999}, 1), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(costs_of({1e300, 1}, 50)[1], 0);
}

TEST(Integers, AreExactWhereTheNumbersAre) {
  const Network network = network_of({0.125, 3.5});
  const Integers integers = integers_of(network, std::vector<double>{1.5, -0.25, -1.25}, 40);
  EXPECT_EQ(integers.cost_unit, 0.125);
  EXPECT_EQ(integers.costs, (std::vector<int64_t>{1, 28}));
  for (int32_t v = 0; v < 3; ++v) {
    const std::vector<double> supply{1.5, -0.25, -1.25};
    EXPECT_EQ(static_cast<double>(integers.supplies[v]) * integers.supply_unit, supply[v]);
  }
}

TEST(Integers, TheGroundBalancesWhateverItsOwnSupplySays) {
  Network network = network_of({1, 1});
  network.ground = 2;
  const auto supplies = [&](double at_ground) {
    return integers_of(network, std::vector<double>{1, 2, at_ground}, 10).supplies;
  };
  EXPECT_EQ(supplies(0), supplies(1e9));
  EXPECT_EQ(supplies(0)[2], -supplies(0)[0] - supplies(0)[1]);
}

TEST(Integers, WithoutAGroundTheLargestSupplyTakesWhatIsTooMuch) {
  const Integers integers = integers_of(network_of({1, 1}), std::vector<double>{0.25, -1, 0.5}, 10);
  EXPECT_EQ(static_cast<double>(integers.supplies[0]) * integers.supply_unit, 0.25);
  EXPECT_EQ(static_cast<double>(integers.supplies[1]) * integers.supply_unit, -0.75);
  EXPECT_EQ(static_cast<double>(integers.supplies[2]) * integers.supply_unit, 0.5);
}

TEST(Integers, OfNothing) {
  const Integers none = integers_of({}, {}, 50);
  EXPECT_TRUE(none.costs.empty() && none.supplies.empty());
  Network single;
  single.num_nodes = 1;
  EXPECT_EQ(integers_of(single, std::vector<double>{3.5}, 50).supplies, std::vector<int64_t>{0});
  single.ground = 0;
  EXPECT_EQ(integers_of(single, std::vector<double>{3.5}, 50).supplies, std::vector<int64_t>{0});
}

}  // namespace
}  // namespace qw::transport
