#include "transport/supply.h"

#include <algorithm>
#include <cmath>

#include "transport/compensated.h"

namespace qw::transport {

Supply supply_of(std::span<const double> to, std::span<const double> from, int32_t num_nodes) {
  Supply supply;
  supply.values.assign(num_nodes, 0.0);
  supply.lost.assign(num_nodes, 0.0);
  Sum sum;
  for (size_t i = 0; i < to.size(); ++i) {
    const TwoSum difference(to[i], -from[i]);
    supply.values[i] = difference.sum;
    supply.lost[i] = difference.lost;
    supply.magnitude += std::fabs(to[i]) + std::fabs(from[i]);
    sum.add(difference.sum);
    sum.add(difference.lost);
  }
  supply.imbalance = sum.value();
  return supply;
}

void balance(Supply& supply) {
  if (supply.imbalance == 0) return;
  const auto largest =
      std::ranges::max_element(supply.values, {}, [](double value) { return std::fabs(value); });
  const size_t at = largest - supply.values.begin();
  const TwoSum rest(supply.values[at], -supply.imbalance);
  const TwoSum parts(rest.sum, rest.lost + supply.lost[at]);
  supply.values[at] = parts.sum;
  supply.lost[at] = parts.lost;
}

}  // namespace qw::transport
