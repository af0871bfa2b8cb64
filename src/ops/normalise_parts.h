// Forward and backward of the normalisation, each an operator with one backend per device, and what they
// require.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "qw/ops/normalise.h"

namespace qw::ops {

// The normalised values, and by kind: symmetric, [N] 1 / sqrt(d); rows, [N] 1 / d; softmax, [0]. A d that
// counts as 0 has the scale 0.
std::tuple<at::Tensor, at::Tensor> normalise_forward(const SparsePattern& pattern, const at::Tensor& values,
                                                     Normalisation kind);

// The gradient for the values, from what the forward pass gave.
at::Tensor normalise_backward(const SparsePattern& pattern, const at::Tensor& normalised,
                              const at::Tensor& scales, const at::Tensor& gradient, Normalisation kind);

// The kind behind the number that a schema has in its place.
Normalisation checked_normalisation(const char* op, int64_t kind);

// `name` is what the operator calls the values.
void check_normalise(const char* op, const SparsePattern& pattern, const char* name,
                     const at::Tensor& values);
void check_normalise_backward(const SparsePattern& pattern, const at::Tensor& normalised,
                              const at::Tensor& scales, const at::Tensor& gradient, Normalisation kind);

}  // namespace qw::ops
