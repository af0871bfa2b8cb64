// The matrices of one part of a partition: rows of its own nodes, with columns by its own nodes and its halo.
#pragma once

#include <memory>

#include "comm/halo.h"
#include "nn/graph_matrices.h"
#include "qw/data/partition.h"

namespace qw {

// What the part sends and receives in a propagation.
HaloPlan halo_plan(const Part& part);

// Where rows of so many numbers each begin in a list of all rows in the order of the data; of own rows.
at::Tensor first_of_rows(Comm& parts, const Part& part, const at::Tensor& lengths);

// The edges of a part with those first that it owns: the order of a flow and of weights on them.
std::vector<EdgeId> own_edges_first(const Part& part);

// All parts make and use it together. Weights of edges are in the order of
// own_edges_first(). `parts` must outlive it; the arrays of `part` are shared.
std::shared_ptr<GraphMatrices> part_graph(Comm& parts, const Part& part, const at::TensorOptions& options);

}  // namespace qw
