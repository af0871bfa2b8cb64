#include "transport/integers.h"

#include <algorithm>
#include <cmath>

namespace qw::transport {
namespace {

constexpr int kSupplyBits = 52;
constexpr int kFinestScale = 1074;  // every double is a multiple of 2^-1074

// The number of bits behind the binary point that `value` needs.
int fraction_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  const auto digits = static_cast<int64_t>(std::ldexp(mantissa, 53));
  return 53 - exponent - __builtin_ctzll(static_cast<uint64_t>(digits));
}

// The exponent x of the unit 2^-x for which `largest` uses at most `bits` bits.
int finest_scale(double largest, int bits) {
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  return bits - exponent;
}

int cost_scale(std::span<const double> costs, int bits) {
  double largest = 0;
  bool all_same = true;
  for (const double cost : costs) {
    largest = std::max(largest, cost);
    all_same = all_same && cost == costs[0];
  }
  if (largest == 0) return 0;
  const int finest = finest_scale(largest, bits);
  int needed = fraction_bits(largest);
  for (size_t e = 0; e < costs.size() && needed < finest && !all_same; ++e) {
    needed = std::max(needed, fraction_bits(costs[e]));
  }
  return std::min(needed, finest);
}

// Times a power of two: one multiplication wherever that power is a double.
class TimesPowerOfTwo {
 public:
  explicit TimesPowerOfTwo(int exponent)
      : exponent_(exponent), factor_(std::abs(exponent) < 1000 ? std::ldexp(1.0, exponent) : 0) {}
  double operator()(double value) const {
    return factor_ != 0 ? value * factor_ : std::ldexp(value, exponent_);
  }

 private:
  int exponent_;
  double factor_;
};

int scale_of_supplies(const Network& network, std::span<const double> supply, int32_t largest) {
  if (largest == network.ground || supply[largest] == 0) return 0;
  int exponent = 0;
  std::frexp(supply[largest], &exponent);
  const TimesPowerOfTwo shrunk(-exponent);  // so that the sum neither overflows nor vanishes
  double sum = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v != network.ground) sum += std::fabs(shrunk(supply[v]));
  }
  // Twice: the ground balances the rest.
  return std::min(finest_scale(2 * sum, kSupplyBits) - exponent, kFinestScale);
}

}  // namespace

Integers integers_of(const Network& network, std::span<const double> supply, int cost_bits) {
  Integers result;
  const int scale = cost_scale(network.costs, cost_bits);
  result.cost_unit = std::ldexp(1.0, -scale);
  result.costs.resize(network.costs.size());
  const TimesPowerOfTwo cost_units(scale);
  for (size_t e = 0; e < network.costs.size(); ++e) {
    result.costs[e] = static_cast<int64_t>(std::floor(cost_units(network.costs[e])));
  }
  if (network.num_nodes == 0) return result;

  int32_t largest = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    if (std::fabs(supply[v]) > std::fabs(supply[largest]) || largest == network.ground) largest = v;
  }
  const int supply_scale = scale_of_supplies(network, supply, largest);
  result.supply_unit = std::ldexp(1.0, -supply_scale);
  result.supplies.assign(network.num_nodes, 0);
  const TimesPowerOfTwo supply_units(supply_scale);
  int64_t balance = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    result.supplies[v] = std::llround(supply_units(supply[v]));
    balance += result.supplies[v];
  }
  result.supplies[network.ground == kNoNode ? largest : network.ground] -= balance;
  return result;
}

}  // namespace qw::transport
