// A linear map of dense rows.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// x [N, in] times the transpose of weight [out, in] -> [N, out]; float32 or float64 of one type. The same
// bits for any number of threads: BLAS is called on blocks of rows whose size does not depend on it, and sums
// over rows, in the gradient of the weight, are added block by block in order. Gradients for both, each made
// only when asked for; none of second order. Throws c10::Error on shapes, types or devices that do not fit.
at::Tensor dense_linear(const at::Tensor& x, const at::Tensor& weight);

}  // namespace qw
