// What stands between two layers, in one pass over memory: bias, activation, dropout.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/dropout.h"

namespace QW_PUBLIC qw {

// The function between two layers.
enum class Activation : int64_t { kNone, kRelu, kElu };

// dropout(activation(x + bias), p, key) for x [N, C] and bias [C], or [0] for none; float32 or float64 of one
// type. The mask is that of qw::dropout: element i in row-major order. elu has alpha = 1 and is exact to a
// few ulp of 1; relu has the derivative 0 at 0. NaN stays NaN unless dropped.
//
// Gradients for x and bias, from the result alone: nothing else is kept for the backward pass. The bias's is
// a sum over rows in blocks whose size depends on C only, added in order: the same bits for any number of
// threads. No second derivative: create_graph is refused. O(N C). Throws c10::Error on shapes, types or
// devices that do not fit and as qw::dropout does.
at::Tensor activate(const at::Tensor& x, const at::Tensor& bias, Activation activation, double p = 0.0,
                    const DropoutKey& key = {});

// x + bias, the same operator.
at::Tensor add_bias(const at::Tensor& x, const at::Tensor& bias);

}  // namespace qw
