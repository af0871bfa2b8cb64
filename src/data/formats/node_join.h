// Which row of the node table is which end of an edge.
#pragma once

#include <string>
#include <vector>

#include "data/formats/edge_csv.h"
#include "data/formats/id_choice.h"
#include "data/formats/node_ids.h"
#include "data/formats/node_text.h"
#include "qw/data/load.h"

namespace qw {

// For options.unknown_nodes "add": appends a row to `nodes` for every end of an edge that is not among the
// ids, empty but for the id.
void add_unknown_nodes(NodeText& nodes, IdSource source, const EdgeTable& edges, const LoadOptions& options,
                       std::vector<std::string>& notes);

// Renumbers the ends of the edges to the rows that `ids` has for them. Unless options.exact_ids, "1.0" in one
// file is "1" in the other. An end that is not among the ids throws qw::Error with the line of its edge, or
// costs the edge with a note, as options.unknown_nodes says.
void join_edges(EdgeTable& edges, const NodeIds& ids, IdSource source, const std::string& nodes_label,
                const LoadOptions& options);

}  // namespace qw
