// Which column of a node table holds the ids.
#pragma once

#include <string>
#include <vector>

#include "data/formats/edge_csv.h"
#include "data/formats/node_text.h"
#include "qw/data/load.h"

namespace qw {

// A first column without a name is the index that pandas and R write: it is called "index", so that options
// can name it. Returns that name, or "" when the first column has one.
std::string name_index_column(NodeText& nodes);

// How rows get their ids.
enum class IdSource {
  kColumn,
  kColumnBeforeRows,  // a guess: row numbers from 0 would hold all ends, too
  kRowsFromZero,
  kRowsFromOne
};

// What --id says to number rows from 0 although a column looks like ids.
inline constexpr const char* kRowNumber = "row-number";

// Sets options.id, when it is empty, to the column of different cells that holds the ends of all edges, or at
// least half of them when it has a name such as id or node. The index of pandas or R is the last choice. Rows
// count as ids only where no column is one: from 0, or from 1 when the ends are 1 to the number of rows.
// Without edges the name alone tells. `index` is what name_index_column returned. A column of such a name
// that is not the id goes to options.drop. Notes say what was chosen, and what would fit too. kRowNumber,
// unless a column is called that, becomes "". Throws qw::UsageError when only a feature or a target holds
// the ends.
IdSource choose_ids(const NodeText& nodes, const EdgeTable& edges, const std::string& index,
                    LoadOptions& options, std::vector<std::string>& notes);

}  // namespace qw
