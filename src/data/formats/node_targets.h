// What is to be learned, from one or several columns of a node table.
#pragma once

#include "data/formats/column_summary.h"

namespace qw {

struct NodeTable;

// Fills table.targets from the target columns of the layout, and their type in table.columns.
//
// One column has classes when it is text, or at most 100 different whole numbers (1.0 is one) of which there
// are twice as many rows; otherwise it has values. options.task decides instead of that rule, and a note says
// it where it is a guess. Several columns are 0/1 labels, or values where options.task is "regression".
// Missing cells are unlabelled.
void read_node_targets(const NodeTableText& text, const TableSummary& summary, const LoadOptions& options,
                       NodeTable& table);

}  // namespace qw
