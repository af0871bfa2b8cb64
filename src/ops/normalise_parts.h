// The gradient of normalise, an operator of its own, and the sums that it divides by.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/normalise.h"

namespace qw::ops {

// The gradient for the values, from what the forward pass gave.
at::Tensor normalise_backward(const SparsePattern& pattern, const at::Tensor& normalised,
                              const at::Tensor& scales, const at::Tensor& gradient, Normalisation kind);

// [R]: the sum of each row's values [entries], as normalise() makes it; on the CPU, without a gradient.
at::Tensor row_sums(const at::Tensor& offsets, const at::Tensor& values);

}  // namespace qw::ops
