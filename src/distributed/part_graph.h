// The matrices of one part of a partition: rows of its own nodes, with columns by its own nodes and its halo.
#pragma once

#include <memory>

#include "comm/halo.h"
#include "nn/graph_matrices.h"
#include "qw/data/partition.h"

namespace qw {

// What the part sends and receives in a propagation.
HaloPlan halo_plan(const Part& part);

// Of the CPU; all parts make and use it together. Edge weights that are learned are not known to it, nor is
// the neighbourhood that attention wants. `parts` must outlive it; the arrays of `part` are shared.
std::shared_ptr<GraphMatrices> part_graph(Comm& parts, const Part& part, const at::TensorOptions& options);

}  // namespace qw
