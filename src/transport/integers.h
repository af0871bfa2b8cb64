// Real costs and supplies as 64-bit integers, by powers of two.
//
// Costs are rounded down, so that a potential that is feasible for the integers is feasible for the real
// costs. Supplies are rounded to nearest and then sum to zero exactly. What rounding costs shows in the
// certificate, which is computed with the real numbers; nothing here can overflow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/network.h"

namespace qw::transport {

struct Integers {
  std::vector<int64_t> costs;     // [E]
  std::vector<int64_t> supplies;  // [N], with the ground's
  double cost_unit = 1;           // a power of two: real cost ~ integer * unit
  double supply_unit = 1;
};

// Supplies use at most 2^52 in the sum of their absolute values, so that every flow is exact as a double. The
// largest cost uses at most `cost_bits` bits, fewer when that loses nothing (costs that are all 1 stay 1).
Integers integers_of(const Network& network, std::span<const double> supply, int cost_bits);

}  // namespace qw::transport
