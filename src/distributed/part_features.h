// The features of a part's own nodes, scaled as those of the whole are.
#pragma once

#include "comm/comm.h"
#include "qw/data/partition.h"
#include "qw/learn/scaling.h"
#include "qw/nn/node_matrix.h"

namespace qw {

// The scaling of all parts' features; all parts call it together, and have the same.
FeatureScaling scaling_of_parts(Comm& parts, const std::string& kind, const Dataset& about,
                                const Features& own);

// Own rows as a network takes them in; all parts call it together.
NodeMatrix part_features(Comm& parts, const Part& part, const Features& scaled,
                         const at::TensorOptions& options);

}  // namespace qw
