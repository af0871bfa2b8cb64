// The features of some nodes.
#pragma once

#include <vector>

#include "qw/graph/features.h"
#include "qw/graph/graph.h"

namespace qw {

// Row k is that of nodes[k]; in the same form, without names.
Features rows_of(const Features& features, const std::vector<NodeId>& nodes);

}  // namespace qw
