// The passes that batch_norm and layer_norm and their gradients are made of, each an operator of its own with
// one backend per device, and what they require.
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

// The result, and what the backward pass needs: [2, C] in float64, mean and 1 / sqrt(variance + eps).
std::tuple<at::Tensor, at::Tensor> batch_norm_forward(const BatchNormInputs& inputs);

// The gradients of x, weight and bias.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_backward(const at::Tensor& x,
                                                                   const at::Tensor& weight,
                                                                   const at::Tensor& statistics,
                                                                   const at::Tensor& gradient, bool training);

// The same for layer_norm, with statistics [2, N].
std::tuple<at::Tensor, at::Tensor> layer_norm_forward(const at::Tensor& x, const at::Tensor& weight,
                                                      const at::Tensor& bias, double eps);
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& x,
                                                                   const at::Tensor& weight,
                                                                   const at::Tensor& statistics,
                                                                   const at::Tensor& gradient);

void check_batch_norm(const BatchNormInputs& inputs);
void check_layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps);

// `normed` is how many means there are.
void check_norm_backward(const char* op, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& statistics, const at::Tensor& gradient, int64_t normed);

}  // namespace qw::ops
