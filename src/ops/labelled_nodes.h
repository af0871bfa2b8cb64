// Labels as programs of others have them, a row for each node and a mask, as divergence() takes them.
#pragma once

#include "ops/backend.h"
#include "qw/ops/divergence.h"

namespace qw::ops {

// The nodes of the mask and their labels, for predictions [N, C]:
//   labels  [N] of integers, classes in [0, C); for values or several labels, or a distribution over classes,
//           [N, C] (or [N] where C is 1) of the type of the predictions, NaN where unknown
//   mask    [N] of bool, or the numbers of nodes, none twice; without one all nodes whose labels are known:
//   classes
//           that are not negative, rows that have a number
// `known` is set. Remembered for tensors that have not changed since. Throws c10::Error, naming `op`.
LabelTensors labelled_nodes(const char* op, Divergence kind, const at::Tensor& predictions,
                            const at::Tensor& labels, const OptionalTensor& mask);

// Shapes, types and devices alone.
void check_labels(const char* op, Divergence kind, const at::Tensor& predictions, const at::Tensor& labels,
                  const OptionalTensor& mask);

}  // namespace qw::ops
