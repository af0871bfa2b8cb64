// numpy's legacy RandomState, as far as the published splits need it: the Mersenne Twister seeded with one
// 32-bit number, masked rejection for bounded integers, and choice without replacement as the head of a
// shuffled range.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "qw/graph/graph.h"

namespace qw {

class NumpyRandomState {
 public:
  explicit NumpyRandomState(uint32_t seed) : engine_(seed) {}

  uint32_t below_or_equal(uint32_t largest);

  std::vector<int64_t> permutation(int64_t size);

  // choice(population, count, replace=False), in numpy's order; count <= population.size().
  std::vector<NodeId> choice(std::span<const NodeId> population, int64_t count);

 private:
  std::mt19937 engine_;
};

}  // namespace qw
