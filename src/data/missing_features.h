// Features for data that have none.
#pragma once

#include <string>

#include "qw/graph/dataset.h"
#include "qw/graph/structure_features.h"

namespace qw {

// `how` is a choice of --missing-features: "auto" and "degree" make features of the graph, with a note,
// "constant" gives every node a 1, "none" does nothing. Throws qw::UsageError when "degree" or "constant" is
// asked for and there are features.
void add_missing_features(Dataset& dataset, const std::string& how, const StructureOptions& options = {});

}  // namespace qw
