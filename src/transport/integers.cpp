#include "transport/integers.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qw::transport {
namespace {

constexpr int kSupplyBits = 52;
constexpr int kWideSupplyBits = 120;
constexpr int kWidePotentialBits = 121;  // what is left when potentials differ by nine times the longest way
constexpr int kFinestScale = 1074;       // every double is a multiple of 2^-1074

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

int32_t largest_supply(const Network& network, std::span<const double> supply) {
  int32_t largest = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    if (std::fabs(supply[v]) > std::fabs(supply[largest]) || largest == network.ground) largest = v;
  }
  return largest;
}

int scale_of_supplies(const Network& network, std::span<const double> supply, int32_t largest, int bits) {
  if (largest == network.ground || supply[largest] == 0) return 0;
  int exponent = 0;
  std::frexp(supply[largest], &exponent);
  const TimesPowerOfTwo shrunk(-exponent);  // so that the sum neither overflows nor vanishes
  double sum = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v != network.ground) sum += std::fabs(shrunk(supply[v]));
  }
  // Twice: the ground balances the rest.
  return std::min(finest_scale(2 * sum, bits) - exponent, kFinestScale);
}

// value * 2^scale, towards zero; `exact` becomes false when that is no integer.
Wide scaled(double value, int scale, bool& exact) {
  if (value == 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent);
  auto digits = static_cast<Wide>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53 + scale;
  if (shift >= 0) {
    digits <<= shift;
  } else {
    const Wide whole = shift <= -53 ? 0 : digits >> -shift;
    exact = exact && shift > -53 && whole << -shift == digits;
    digits = whole;
  }
  return value < 0 ? -digits : digits;
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

  const int32_t largest = largest_supply(network, supply);
  const int supply_scale = scale_of_supplies(network, supply, largest, kSupplyBits);
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

WideIntegers wide_integers_of(const Network& network, const Supply& supply, double most_cost) {
  WideIntegers result;
  double largest_cost = 0;
  for (const double cost : network.costs) largest_cost = std::max(largest_cost, std::min(cost, most_cost));
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes));
  const int scale = largest_cost == 0
                        ? 0
                        : std::min(finest_scale(largest_cost, kWidePotentialBits - node_bits), kFinestScale);
  result.cost_unit = std::ldexp(1.0, -scale);
  bool ignored = true;
  for (const double cost : network.costs)
    result.costs.push_back(scaled(std::min(cost, most_cost), scale, ignored));

  const int32_t largest = largest_supply(network, supply.values);
  const int supply_scale = scale_of_supplies(network, supply.values, largest, kWideSupplyBits);
  result.supply_unit = std::ldexp(1.0, -supply_scale);
  result.supplies.assign(network.num_nodes, 0);
  Wide balance = 0;
  double inexact = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    for (const double part : {supply.values[v], supply.lost[v]}) {
      bool exact = true;
      result.supplies[v] += scaled(part, supply_scale, exact);
      inexact += exact ? 0 : 1;
    }
    balance += result.supplies[v];
  }
  result.supply_error = inexact * result.supply_unit;
  if (network.ground == kNoNode)
    result.supply_error += std::fabs(static_cast<double>(balance)) * result.supply_unit;
  result.supplies[network.ground == kNoNode ? largest : network.ground] -= balance;
  return result;
}

}  // namespace qw::transport
