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
  std::vector<TableColumn> columns;
};

// A cell is missing when it is empty or spelled as options.missing says. What features and targets are made
// of columns is told in node_features.h and node_targets.h. Throws with file and line on bad cells.
NodeTable read_node_csv(std::string_view text, const std::string& label, const LoadOptions& options);

}  // namespace qw
