// What Adam requires.
#pragma once

#include "qw/ops/adam.h"

namespace qw {
namespace ops {

// What every backend of the operator calls first; throws as above.
void check_adam(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
                at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
                double weight_decay, int64_t step);

}  // namespace ops
}  // namespace qw
