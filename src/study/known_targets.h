// Labels as a study may look at them.
#pragma once

#include <vector>

#include "qw/graph/graph.h"
#include "qw/graph/targets.h"

namespace qw {

// Of these nodes only; those of all others are missing.
Targets known_targets(const Targets& targets, const std::vector<NodeId>& nodes);

// Of the edges, within a class: from here on neighbours are alike.
inline constexpr double kManyWithin = 0.5;

}  // namespace qw
