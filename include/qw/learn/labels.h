// The labels of some nodes, as the divergences take them.
#pragma once

#include <span>

#include "qw/core/export.h"
#include "qw/graph/graph.h"
#include "qw/graph/targets.h"
#include "qw/ops/divergence.h"

namespace QW_PUBLIC qw {

// The divergence that a task is trained with: softmax for classes, Bernoulli for 0/1 labels, least squares
// for values. Throws qw::Error when there is nothing to learn.
Divergence divergence_for(Task task);

// The labels of `nodes`, in the type and on the device of `options`.
LabelTensors label_tensors(const Targets& targets, std::span<const NodeId> nodes,
                           const at::TensorOptions& options);

// What makes the sum of divergences a mean: over nodes for softmax, over nodes and columns for the others,
// where only known labels count. 1 when there is none.
double mean_scale(Divergence kind, const LabelTensors& labels, int64_t columns);

}  // namespace qw
