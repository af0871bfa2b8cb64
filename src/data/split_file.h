// Who trains, as a file says: --split-file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qw/graph/dataset.h"

namespace qw {

// The part that is called so: train (training), val (valid, validation, dev) or test (testing), in upper or
// lower case; nullptr: none of these.
std::vector<NodeId>* part_named(Split& split, std::string_view name);

// Of CSV as read_split_file takes it, but with nodes that have no label. Throws qw::Error with line.
std::vector<Split> splits_from_csv(const std::string& text, const std::string& label, const Dataset& dataset);

// A CSV of node ids, then one column of parts (train, val, test or empty) for each run, with or without a
// header; or the JSON that `qw data split --out FILE.json` writes, read by its "ids" where the graph has ids,
// too, and else by node numbers of a graph of "nodes" nodes. Nodes that are not listed are in no part; listed
// nodes without a label are left out, with a note. Throws qw::Error with file and line.
std::vector<Split> read_split_file(const std::string& path, Dataset& dataset);

}  // namespace qw
