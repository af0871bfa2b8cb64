// Models of the form: perceptron, then a polynomial of the propagation matrix.
#pragma once

#include <functional>

#include "nn/layers/linear.h"

namespace qw {

// Coefficients c_j with p(x) = sum_j c_j T_j(x), for a polynomial p of degree at most k: interpolation at the
// k + 1 Chebyshev nodes, where it is exact.
std::vector<double> chebyshev_coefficients(int64_t k, const std::function<double(double)>& polynomial);

// What is propagated of x: without a share of `dprate` in training.
at::Tensor dropped(const ModelInput& input, double dprate, const at::Tensor& x);

// The same, then the filter.
at::Tensor propagate(const ModelInput& input, double dprate, const PropagationMatrix& matrix,
                     const at::Tensor& coefficients, const at::Tensor& x);

// Of the perceptron and a filter of degree k on rows of `columns`: all its terms are kept.
PassMemory filter_memory(const Perceptron& perceptron, int64_t k, int64_t columns, bool self_loops,
                         bool edge_weights);

}  // namespace qw
