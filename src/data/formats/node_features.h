// Features from the columns of a node table.
#pragma once

#include "data/formats/column_summary.h"
#include "qw/graph/dataset.h"

namespace qw {

struct NodeTable;

// Fills table.features, and role, type and fill of each feature in table.columns. A column of numbers or of
// true and false becomes one feature, its missing cells the mean; a column of text becomes one 0/1 feature
// per value, of which a missing cell has none. A column without values, and one of text with too many of them
// that was not asked for by name, are left out. Notes say all of this.
void read_node_features(const NodeTableText& text, const TableSummary& summary, NodeTable& table);

}  // namespace qw
