// Whether a file that was read as a list of edges is one.
#pragma once

#include "data/formats/edge_csv.h"

namespace qw {

// Whether the line that was taken for a header, by a guess, names nodes of the edges below it.
bool header_is_an_edge(const EdgeTable& table);
// Whether that line names two nodes of the node table.
bool header_is_an_edge(const EdgeTable& table, const NodeIds& ids);

// Whether the first line, two numbers, says how many nodes and edges follow.
bool first_line_counts(const EdgeTable& table);

// A note when nothing tells whether the first line is a header.
void say_doubtful_header(EdgeTable& table);

// Throws qw::UsageError when the file looks like ids and their labels, unless the header or the options say
// that its columns are the ends of edges.
void refuse_node_table(const EdgeTable& table, const LoadOptions& options);

}  // namespace qw
