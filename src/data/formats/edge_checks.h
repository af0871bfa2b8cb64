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

// What the two columns have, without the rows.
struct ColumnFacts {
  int64_t rows = 0;
  int64_t tails = 0;  // different ones
  int64_t heads = 0;
  bool disjoint = true;        // no node is in both columns
  bool heads_ascend = true;    // from row to row
  bool tails_count_up = true;  // 0, 1, 2, ... from row to row, or from 1
  int64_t fractions = 0;       // heads such as 0.25
};

// Throws qw::UsageError when the file looks like ids and their labels, unless the header or the options say
// that its columns are the ends of edges.
void refuse_node_table(const EdgeTable& table, const LoadOptions& options);
void refuse_node_table(const EdgeLayout& layout, const ColumnFacts& facts, const LoadOptions& options);

// A note on weights below 0; empty when there is none.
std::string negative_weights_note(int64_t negative, int64_t all);

}  // namespace qw
