// Products with one part of a larger matrix: rows of other parts that columns name are brought first, in the
// backward pass too.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/ops/spmm.h"

namespace qw::ops {

// spmm() and chebyshev_filter() of a pattern with `others`, on the CPU; the values of the matrix get no
// gradient.
at::Tensor part_product(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense,
                        const at::Tensor& addend);
at::Tensor part_filter(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& coefficients,
                       const at::Tensor& x);

}  // namespace qw::ops
