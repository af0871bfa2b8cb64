// Polynomial graph filters: all propagations in one operator.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// sum over k of coefficients[k] T_k(M) x, with T_k the Chebyshev polynomials (T_0 = 1, T_1 = M, T_k = 2 M
// T_{k-1} - T_{k-2}) and M the square sparse matrix `values` on `pattern`. The terms stay of the size of x
// when the spectrum of M lies in
// [-1, 1], as that of a normalised adjacency or of the Laplacian minus one does. Any polynomial of degree K
// in M is such a sum, by an exact linear map of its coefficients: K propagations serve BernNet, ChebNetII and
// APPNP alike.
//
// x [N, C], coefficients [K + 1], values [entries]: float32 or float64, all of one type. Gradients for all
// three, each made only when asked for: K propagations with the transpose; for `values` the sum over k of
// products as in spmm. Keeps the K + 1 terms [N, C] for the backward pass when a gradient is asked for. The
// same bits for any number of threads. O(K entries C). Throws c10::Error as spmm does. With pattern.others
// all parts call it together, as spmm; the gradient for the coefficients is what own rows add to it.
at::Tensor chebyshev_filter(const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& coefficients, const at::Tensor& x);

}  // namespace qw
