// Edges from text, in parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/edge_layout.h"
#include "data/formats/node_ids.h"
#include "qw/data/load.h"
#include "qw/graph/graph.h"

namespace qw {

// Edges between the nodes that they name themselves.
struct EdgeTable {
  EdgeList edges;
  std::vector<std::string> names;  // of the nodes; empty when they are 0, 1, 2, ...
  std::vector<std::string> notes;
  EdgeLayout layout;
  std::vector<int64_t> matrix_lines;  // of a matrix: where each edge stands

  std::string name(NodeId node) const { return names.empty() ? std::to_string(node) : names[node]; }
};

// A list of edges (find_edge_layout says how it may look) or an adjacency matrix with names. The nodes are
// numbered in numeric order when all ids are whole numbers from 0 to 2^31 - 2, otherwise in order of
// appearance; 1.0 is 1 when all ids are numbers, unless options.exact_ids. `text` is UTF-8 and must outlive
// the table. Throws qw::Error with file and line on bad rows, and with a hint when the file is no list of
// edges but a table of nodes or a matrix without names.
EdgeTable read_edge_csv(std::string_view text, const std::string& label, const LoadOptions& options);

// Rows of a list of edges whose ids are plain numbers, which stay as they are: layout.rows may be any whole
// lines of the file, layout.first_line is the number of the first. Nothing when an id is something else.
struct PlainRows {
  EdgeList edges;        // without num_nodes
  int64_t comments = 0;  // lines that were skipped
};
std::optional<PlainRows> read_plain_rows(const EdgeLayout& layout);

// Notes of read_edge_csv.
std::string comments_note(int64_t comments);
inline constexpr const char* kFirstLineCounts =
    "the first line was skipped: it says how many nodes and edges there are; --header no makes it an edge";

// The line of the text in which edge `edge` stands.
int64_t line_of_edge(const EdgeTable& table, int64_t edge);

}  // namespace qw
