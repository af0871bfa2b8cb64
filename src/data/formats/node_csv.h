// Nodes from CSV text: ids, features, a target and a split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/formats/node_ids.h"
#include "qw/data/load.h"
#include "qw/graph/dataset.h"

namespace qw {

struct NodeTable {
  NodeIds ids;
  Features features;
  Targets targets;
  std::vector<Split> splits;
  std::vector<std::string> notes;
};

// Columns of numbers become one feature each, with empty cells filled by the column's mean (and a note);
// columns of text become one 0/1 feature per value, in alphabetical order. An empty cell, NA, NaN or null is
// missing in a column of numbers; an empty cell is missing in a column of text. The target (options.target)
// is a class when it is text or has few different whole numbers, otherwise a value; options.task decides
// instead of that rule. Throws with file and line on bad cells.
NodeTable read_node_csv(std::string_view text, const std::string& label, const LoadOptions& options);

}  // namespace qw
