// What is known of some nodes, spread over the edges: what label propagation and Correct & Smooth share.
#pragma once

#include <functional>

#include "qw/nn/graph_tensors.h"
#include "qw/ops/divergence.h"

namespace qw {

// Labels as rows of a matrix over all nodes, one-hot for classes. [N, C] float64, on the labels' device.
struct LabelRows {
  at::Tensor values;  // 0 where there is none
  at::Tensor known;   // 1 where there is one, else 0
};
LabelRows label_rows(const LabelTensors& labels, int64_t nodes, int64_t columns);

// The mean of the known labels [C], 0 in a column that has none. Summed in one order, as all sums here.
at::Tensor mean_label(const LabelRows& rows);

// x <- alpha * matrix x + (1 - alpha) * start, `steps` times from x = start [N, C] float64; `after` each step
// x becomes what that makes of it. In float64, since little is left far away from what is known.
at::Tensor spread(const PropagationMatrix& matrix, const at::Tensor& start, double alpha, int64_t steps,
                  const std::function<at::Tensor(const at::Tensor&)>& after = {});

}  // namespace qw
