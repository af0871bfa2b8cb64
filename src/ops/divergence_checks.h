// What qw::divergence requires; every backend calls it first.
#pragma once

#include "qw/ops/divergence.h"

namespace qw::ops {

void check_divergence(int64_t kind, const at::Tensor& predictions, const at::Tensor& shift,
                      const LabelTensors& labels, const at::Tensor& addend);

}  // namespace qw::ops
