#include "graph/numpy_random.h"

#include <bit>
#include <numeric>
#include <utility>

#include "qw/core/error.h"

namespace qw {

uint32_t NumpyRandomState::below_or_equal(uint32_t largest) {
  if (largest == 0) return 0;
  const uint32_t mask = ~uint32_t{0} >> std::countl_zero(largest);
  while (true) {
    const auto value = static_cast<uint32_t>(engine_()) & mask;
    if (value <= largest) return value;
  }
}

std::vector<int64_t> NumpyRandomState::permutation(int64_t size) {
  std::vector<int64_t> result(size);
  std::iota(result.begin(), result.end(), int64_t{0});
  for (int64_t i = size - 1; i > 0; --i)
    std::swap(result[i], result[below_or_equal(static_cast<uint32_t>(i))]);
  return result;
}

std::vector<NodeId> NumpyRandomState::choice(std::span<const NodeId> population, int64_t count) {
  QW_ASSERT(count >= 0 && count <= static_cast<int64_t>(population.size()));
  const std::vector<int64_t> order = permutation(static_cast<int64_t>(population.size()));
  std::vector<NodeId> chosen(count);
  for (int64_t k = 0; k < count; ++k) chosen[k] = population[order[k]];
  return chosen;
}

}  // namespace qw
