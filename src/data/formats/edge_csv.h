// Edges from CSV text, in parallel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/formats/node_ids.h"
#include "qw/data/load.h"
#include "qw/graph/graph.h"

namespace qw {

// The first two columns, or those named by options.source and options.destination, are the ends of an edge;
// options.edge_cost and options.edge_weight name further columns. The first row is a header unless its ends
// are known nodes or, when no nodes are known, two whole numbers.
//
// With `ids` the ends must be among them; without (null), `discovered` receives the nodes found: in numeric
// order when all ids are whole numbers, otherwise in order of appearance.
EdgeList read_edge_csv(std::string_view text, const std::string& label, const LoadOptions& options,
                       const NodeIds* ids, std::vector<std::string>& discovered);

}  // namespace qw
