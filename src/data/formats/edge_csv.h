// Edges from CSV text, in parallel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/formats/node_ids.h"
#include "qw/data/load.h"
#include "qw/graph/graph.h"

namespace qw {

struct EdgeTable {
  EdgeList edges;
  std::vector<std::string>
      discovered;  // names of the nodes, when they were not known before and are not 0, 1, 2, ...
  std::vector<std::string> notes;
};

// The first two columns, or those named by options.source and options.destination, are the ends of an edge;
// options.edge_cost and options.edge_weight name further columns. The first row is a header unless its ends
// are two known nodes or two whole numbers.
//
// With `ids` the ends must be among them; without (null), the nodes are those found: in numeric order when
// all ids are whole numbers from 0 to 2^31 - 2, otherwise in order of appearance.
EdgeTable read_edge_csv(std::string_view text, const std::string& label, const LoadOptions& options,
                        const NodeIds* ids);

}  // namespace qw
