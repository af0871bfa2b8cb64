// The gradient of normalise, an operator of its own, and the kinds.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/normalise.h"

namespace qw::ops {

// The gradient for the values, from what the forward pass gave.
at::Tensor normalise_backward(const SparsePattern& pattern, const at::Tensor& normalised,
                              const at::Tensor& scales, const at::Tensor& gradient, Normalisation kind);

// The kind behind the number that a schema has in its place.
Normalisation checked_normalisation(const char* op, int64_t kind);

}  // namespace qw::ops
