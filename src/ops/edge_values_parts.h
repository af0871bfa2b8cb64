// The gradient of edge_values, an operator of its own with one backend per device, and what both require.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/edge_values.h"

namespace qw::ops {

// gradient [entries] -> [E]: the sum over the one or two entries of each edge.
at::Tensor edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of);

void check_edge_values(const at::Tensor& weights, const EntryEdges& entries);
void check_edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of);

}  // namespace qw::ops
