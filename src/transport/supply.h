// What the nodes of a network send, to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qw::transport {

// The supplies are exactly values + lost: a difference of two numbers has more digits than a double holds.
struct Supply {
  std::vector<double> values;  // [N]
  std::vector<double> lost;    // [N]
  double magnitude = 0;        // sum |to| + |from|; infinite when it overflows
  double imbalance = 0;        // of all values that were given
};

// to - from at each of the first nodes, 0 at the others.
Supply supply_of(std::span<const double> to, std::span<const double> from, int32_t num_nodes);

// Takes the imbalance from the largest supply, so that the sum is 0.
void balance(Supply& supply);

}  // namespace qw::transport
