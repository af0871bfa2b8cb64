// The gradient of edge_values, an operator of its own.
#pragma once

#include <ATen/core/Tensor.h>

namespace qw::ops {

// gradient [entries] -> [E]: the sum over the one or two entries of each edge.
at::Tensor edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of);

}  // namespace qw::ops
