// One step of the flow on edges, in one pass: gradient, moments, update, threshold or projection.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// The edges that carry flow. All on one device, contiguous.
struct FlowEdges {
  at::Tensor heads;  // [E] int32
  at::Tensor tails;  // [E] int32
  at::Tensor costs;  // [E] of the flow's type, not negative; or [0]: every edge costs 1
};

// How the term cost * |flow| enters the step.
enum class FlowRule : int64_t {
  kSubgradient,  // Adam on the smooth part plus cost * sign(flow), where sign(0) = 0: the published step
  kProximal,     // Adam on the smooth part, then the soft threshold cost * lr / (sqrt(v) + eps), with Adam's
                 // corrected v: entries become exactly zero
};

// The rule of a step and its numbers.
struct FlowStepOptions {
  FlowRule rule = FlowRule::kSubgradient;  // how the cost counts
  double lr = 0.01;                        // learning rate
  double weight_decay = 0.0;               // times the flow is added to its gradient
  int64_t step = 1;                        // counts from 1
  bool directed = false;                   // afterwards flow below 0 becomes 0
};

// With the gradient of edge e = (u, v) being residual[u] - residual[v] (that is S^T residual, the gradient
// through S F) plus extra[e], weight_decay * flow[e] and what the rule says, changes flow, first_moment and
// second_moment [E, C] in place as torch.optim.Adam does. residual [N, C] is zero at nodes without a label;
// extra is [E, C] or [0] for none. float32 or float64, all of one type.
//
// Returns [3] in float64: the sum of cost * |flow| and the number of non-zeros after the step, and the
// largest violation of optimality before it: the largest distance of 0 from the set (smooth gradient) + cost
// * d|flow| (without weight decay), where in a directed graph a slope that would take flow at 0 below 0 is
// none. What is no number in the gradient is none in the flow and in the sum.
//
// O(E C) time, nothing of size E C is made. Sums are taken by blocks of edges of fixed size, in order: the
// same bits for any number of threads. Throws c10::Error on what does not fit, before anything is written;
// indices are trusted.
at::Tensor flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                      const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                      const FlowStepOptions& options);

// The same, but writes them to `measures`, [3] in float64 on the flow's device, contiguous.
void flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                const FlowStepOptions& options, const at::Tensor& measures);

}  // namespace qw
