// Which row of the node table is which end of an edge.
#pragma once

#include <string>
#include <vector>

#include "data/formats/edge_csv.h"
#include "data/formats/node_ids.h"
#include "qw/data/load.h"

namespace qw {

// The text of a node table on its way to read_node_csv.
struct NodeText {
  std::string text;
  std::string label;
};

// A first column without a name is the index that pandas and R write: it is called "index", so that options
// can name it. Returns that name, or "" when the first column has one.
std::string name_index_column(NodeText& nodes);

// How rows get their ids.
enum class IdSource { kColumn, kRowsFromZero, kRowsFromOne };

// What --id says to number rows from 0 although a column looks like ids.
inline constexpr const char* kRowNumber = "row-number";

// Sets options.id, when it is empty, to the column that holds the ends of all edges, each once; one with a
// name such as id or node comes before others, and one that also fits is named in the note. Rows count as ids
// only where no column is one: from 0, or from 1 when the ends are 1 to the number of rows. `index` is what
// name_index_column returned. A column of such a name that is not the id goes to options.drop. Notes say what
// was chosen. kRowNumber, unless a column is called that, becomes "".
IdSource choose_ids(const NodeText& nodes, const EdgeTable& edges, const std::string& index,
                    LoadOptions& options, std::vector<std::string>& notes);

// For options.unknown_nodes "add": appends a row to `nodes` for every end of an edge that is not among the
// ids, empty but for the id.
void add_unknown_nodes(NodeText& nodes, IdSource source, const EdgeTable& edges, const LoadOptions& options,
                       std::vector<std::string>& notes);

// Renumbers the ends of the edges to the rows that `ids` has for them. Unless options.exact_ids, "1.0" in one
// file is "1" in the other. An end that is not among the ids throws qw::Error with the line of its edge, or
// costs the edge with a note, as options.unknown_nodes says.
void join_edges(EdgeTable& edges, const NodeIds& ids, const std::string& nodes_label,
                const LoadOptions& options);

}  // namespace qw
