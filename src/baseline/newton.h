// Minimises the penalised loss of a linear model by truncated Newton steps: each step solves for its
// direction by conjugate gradients, with products of the design only.
#pragma once

#include <cstdint>
#include <vector>

#include "baseline/design.h"
#include "core/deadline.h"

namespace qw {

enum class LinearLoss { kSoftmax, kBernoulli, kSquared };

struct LinearProblem {
  const Design& design;
  LinearLoss loss;
  int64_t width;
  const std::vector<double>&
      truth;  // [rows * width]: 0 or 1, or values; NaN entries do not count (not of softmax)
};

// Moves `parameters`, [(columns + 1) * width], to the minimum of
//   sum of losses + strength / 2 * |parameters without the intercept|^2,
// until the gradient is 1e-9 of its size at zero. False when it has not got there by the deadline (or in 200
// steps, which a convex function should not need).
[[nodiscard]] bool minimise(const LinearProblem& problem, double strength, const Deadline& deadline,
                            std::vector<double>& parameters);

}  // namespace qw
