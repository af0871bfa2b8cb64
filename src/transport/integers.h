// Real costs and supplies as integers, by powers of two.
//
// Costs are rounded down, so that a potential that is feasible for the integers is feasible for the real
// costs. Supplies are rounded to nearest and then sum to zero exactly. What rounding costs shows in the
// certificate, which is computed with the real numbers; nothing here can overflow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/network.h"
#include "transport/supply.h"

namespace qw::transport {

using Wide = __int128;

template <class Int>
struct ScaledNumbers {
  std::vector<Int> costs;     // [E]
  std::vector<Int> supplies;  // [N], with the ground's
  double cost_unit = 1;       // a power of two: real cost ~ integer * unit
  double supply_unit = 1;
};
using Integers = ScaledNumbers<int64_t>;

// Supplies use at most 2^52 in the sum of their absolute values, so that every flow is exact as a double. The
// largest cost uses at most `cost_bits` bits, fewer when that loses nothing (costs that are all 1 stay 1).
Integers integers_of(const Network& network, std::span<const double> supply, int cost_bits);

// In 128 bits: exact for supplies of 20 orders of magnitude, and for costs of 17 in networks of a thousand
// nodes. Costs above `most_cost` are taken for it.
struct WideIntegers : ScaledNumbers<Wide> {
  double supply_error = 0;  // what the supplies were changed by in all, at most
};
WideIntegers wide_integers_of(const Network& network, const Supply& supply, double most_cost);

}  // namespace qw::transport
