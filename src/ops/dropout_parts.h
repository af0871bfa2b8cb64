// The operator behind qw::dropout, and what it requires.
#pragma once

#include "qw/ops/dropout.h"

namespace qw::ops {

void check_dropout(const at::Tensor& values, double p, const DropoutKey& key);

// The same as dropout(), but a copy when p == 0.
at::Tensor dropout_operator(const at::Tensor& values, double p, const DropoutKey& key);

}  // namespace qw::ops
