// Parts with few edges between them.
#pragma once

#include "data/partition/source.h"

namespace qw {

// The nodes of a part keep the order of their numbers; no part is empty. The same seed gives the same parts.
// Throws qw::Error where this build has no METIS, or the graph is too large for it.
Cut metis_cut(const Graph& graph, int64_t parts, int64_t seed);

}  // namespace qw
