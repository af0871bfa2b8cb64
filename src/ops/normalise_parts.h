// The gradient of normalise, an operator of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/normalise.h"

namespace qw::ops {

// The gradient for the values, from what the forward pass gave.
at::Tensor normalise_backward(const SparsePattern& pattern, const at::Tensor& normalised,
                              const at::Tensor& scales, const at::Tensor& gradient, Normalisation kind);

}  // namespace qw::ops
