// The gradients of batch_norm and layer_norm, each an operator of its own.
#pragma once

#include <tuple>

#include "qw/ops/feature_norm.h"

namespace qw::ops {

// Everything batch_norm is given.
struct BatchNormInputs {
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  bool training;
  double momentum;
  double eps;
};

// The gradients of x, weight and bias. `statistics` [2, C] in float64 are mean and 1 / sqrt(variance + eps).
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_backward(const at::Tensor& x,
                                                                   const at::Tensor& weight,
                                                                   const at::Tensor& statistics,
                                                                   const at::Tensor& gradient, bool training);

// The same for layer_norm, with statistics [2, N].
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& x,
                                                                   const at::Tensor& weight,
                                                                   const at::Tensor& statistics,
                                                                   const at::Tensor& gradient);

}  // namespace qw::ops
