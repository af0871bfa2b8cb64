// Who trains, when a column of the node table says so and no option names it.
#pragma once

#include <string>
#include <vector>

#include "data/formats/node_csv.h"
#include "data/formats/node_text.h"
#include "qw/data/load.h"

namespace qw {

// What choose_split found.
struct MaskSplit {
  std::vector<std::string> columns;  // train_mask, val_mask, test_mask; empty: none
  Split split;
};

// With a target, and unless --split-column or --split-file says who trains: sets options.split_column to the
// first column whose cells are all names of parts, train among them, or returns the split of the columns
// train_mask, val_mask and test_mask of 0 and 1, which go to options.drop. Columns that the options name are
// left alone; other columns of parts, and masks that are no split, go to options.drop, also without a target:
// a table to predict on has the features of the one to train on. Notes say what was taken.
MaskSplit choose_split(const NodeText& nodes, LoadOptions& options, std::vector<std::string>& notes);

// Makes the masks the split of the table they stand in, without the nodes that have no label.
void take_masks(MaskSplit masks, NodeTable& table);

}  // namespace qw
