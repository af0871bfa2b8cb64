// What makes a race too good to be true.
#pragma once

#include <string>
#include <vector>

#include "qw/graph/dataset.h"
#include "qw/graph/split.h"

namespace qw {

// One sentence each: test nodes that are copies of nodes to learn from, and features that give the label
// away. By the labels of nodes that train or validate in `split` alone.
std::vector<std::string> leakage_warnings(const Dataset& dataset, const Split& split);

}  // namespace qw
