#include "transport/supply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "transport/compensated.h"
#include "transport/integers.h"
#include "transport/networks.h"

namespace qw::transport {
namespace {

TEST(Supply, KeepsTheDigitsThatADifferenceLoses) {
  const Supply supply = supply_of(std::vector<double>{1e-9, 3}, std::vector<double>{1e6, 1}, 3);
  EXPECT_EQ(supply.values, (std::vector<double>{1e-9 - 1e6, 2, 0}));
  EXPECT_EQ(supply.lost[0], 1e-9 - ((1e-9 - 1e6) + 1e6));
  EXPECT_NE(supply.lost[0], 0);
  EXPECT_EQ(supply.lost[1], 0);
  EXPECT_EQ(supply.magnitude, 1e-9 + 1e6 + 4);
}

TEST(Supply, TheLargestCarriesTheImbalance) {
  Supply supply = supply_of(std::vector<double>{0.3, 0.7, 1}, std::vector<double>{0.1 + 0.2, 1.7, 0}, 3);
  EXPECT_EQ(supply.imbalance, 0.3 - (0.1 + 0.2));
  balance(supply);
  EXPECT_EQ(supply.values[0], 0.3 - (0.1 + 0.2)) << "is small, and stays";
  Sum sum;
  for (int v = 0; v < 3; ++v) sum.add(supply.values[v]);
  for (int v = 0; v < 3; ++v) sum.add(supply.lost[v]);
  EXPECT_EQ(sum.value(), 0);
}

TEST(Supply, WhatIsBalancedStaysAsItIs) {
  Supply supply = supply_of(std::vector<double>{1, 0}, std::vector<double>{0, 1}, 2);
  balance(supply);
  EXPECT_EQ(supply.values, (std::vector<double>{1, -1}));
}

TEST(Supply, MagnitudesThatOverflowAreInfinite) {
  EXPECT_TRUE(
      std::isinf(supply_of(std::vector<double>{1.7e308}, std::vector<double>{-1.7e308}, 1).magnitude));
}

Network star_of(std::vector<double> costs) {
  Network network;
  network.num_nodes = static_cast<int32_t>(costs.size()) + 1;
  for (int32_t v = 1; v < network.num_nodes; ++v) {
    network.sources.push_back(0);
    network.targets.push_back(v);
  }
  network.costs = std::move(costs);
  return network;
}

double real(Wide value, double unit) { return static_cast<double>(value) * unit; }

TEST(WideIntegers, AreExactOverTwelveOrdersOfMagnitude) {
  const Network network = star_of({1e-6, 1.0 / 3, 1e6});
  const Supply supply = supply_of(std::vector<double>{0, 1e-6, 1.0 / 3, 1e6},
                                  std::vector<double>{1e6 + 1e-6, 0, 1.0 / 3, 0}, 4);
  const WideIntegers integers = wide_integers_of(network, supply, 1e6);
  for (size_t e = 0; e < 3; ++e) EXPECT_EQ(real(integers.costs[e], integers.cost_unit), network.costs[e]);
  for (size_t v = 1; v < 4; ++v)
    EXPECT_EQ(real(integers.supplies[v], integers.supply_unit), supply.values[v]) << v;
  EXPECT_EQ(
      static_cast<int64_t>(std::accumulate(integers.supplies.begin(), integers.supplies.end(), Wide{0})), 0);
}

TEST(WideIntegers, CostsAreNeverRoundedUpAndNeverAboveTheMost) {
  const Network network = star_of({5e-324, 1e-200, 1e-20, 7, 1e300});
  const Supply none = supply_of({}, {}, network.num_nodes);
  for (const double most : {0.0, 1e-200, 1.0, 1e10, 1e300, std::numeric_limits<double>::infinity()}) {
    const WideIntegers integers = wide_integers_of(network, none, most);
    for (size_t e = 0; e < network.costs.size(); ++e) {
      const double cost = real(integers.costs[e], integers.cost_unit);
      EXPECT_LE(cost, std::min(most, network.costs[e])) << most;
      EXPECT_LT(std::min(most, network.costs[e]) - cost, integers.cost_unit) << most;
    }
  }
}

TEST(WideIntegers, SayHowMuchOfTheSuppliesTheyChange) {
  Network network = star_of({1, 1});
  network.ground = 2;
  const Supply supply = supply_of(std::vector<double>{1e100, 1e-100}, std::vector<double>{0, 0}, 3);
  const WideIntegers integers = wide_integers_of(network, supply, 1);
  EXPECT_EQ(static_cast<int64_t>(integers.supplies[1]), 0);
  EXPECT_GE(integers.supply_error, 1e-100);
  EXPECT_LE(integers.supply_error, 1e100 * 1e-30);
}

}  // namespace
}  // namespace qw::transport
