// What qw::flow_step_ requires; every backend calls it first.
#pragma once

#include "qw/ops/flow_step.h"

namespace qw::ops {

void check_flow_step(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                     const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                     int64_t rule, double lr, double weight_decay, int64_t step, const at::Tensor& measures);

}  // namespace qw::ops
