#include "study/known_targets.h"

#include <algorithm>
#include <limits>

namespace qw {

Targets known_targets(const Targets& targets, const std::vector<NodeId>& nodes) {
  Targets some = targets;
  std::fill(some.classes.begin(), some.classes.end(), -1);
  std::fill(some.values.begin(), some.values.end(), std::numeric_limits<double>::quiet_NaN());
  for (const NodeId node : nodes) {
    if (!targets.classes.empty()) some.classes[node] = targets.classes[node];
    if (targets.values.empty()) continue;
    std::copy_n(targets.values.begin() + node * targets.width, targets.width,
                some.values.begin() + node * targets.width);
  }
  return some;
}

}  // namespace qw
