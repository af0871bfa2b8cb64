// Where the nodes of a neighbourhood are drawn: by Graphviz's library, where it was there to be built with.
#pragma once

#include "qw/graph/node_explanation.h"

namespace qw::cli {

// Sets x, y and has_positions; the same for the same neighbourhood. Leaves all as it is without Graphviz, and
// where that cannot lay it out.
void lay_out(Neighbourhood& around);

}  // namespace qw::cli
