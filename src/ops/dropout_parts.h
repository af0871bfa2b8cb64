// The operator behind qw::dropout, and what it requires.
#pragma once

#include "qw/ops/dropout.h"

namespace qw {
namespace ops {

// What every backend of the operator calls first; throws as above.
void check_dropout(const at::Tensor& values, double p, const DropoutKey& key);

// The operator behind dropout(): the same, but a copy when p == 0.
at::Tensor dropout_operator(const at::Tensor& values, double p, const DropoutKey& key);

}  // namespace ops
}  // namespace qw
