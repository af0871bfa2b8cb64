// The gradient of qw::activate, an operator of its own.
#pragma once

#include <tuple>

#include "qw/ops/activate.h"

namespace qw::ops {

struct ActivateRule {
  int64_t activation;
  double p;
  DropoutKey key;

  bool only_adds() const { return activation == 0 && p == 0.0; }  // the bias
};

// Gradients of x, [0] when `rule` only adds since it is `gradient` itself, and of the bias, [0] unless asked
// for.
std::tuple<at::Tensor, at::Tensor> activate_backward(const at::Tensor& result, const at::Tensor& gradient,
                                                     bool bias_needs_gradient, const ActivateRule& rule);

}  // namespace qw::ops
