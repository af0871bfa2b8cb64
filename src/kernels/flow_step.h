// The step of the flow on raw pointers.
//
// Floor for each edge and column: flow and two moments read and written (24 bytes in float), two rows of the
// residual gathered (from cache: it has one per node), about 15 flops and a square root.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

struct FlowStepRule {
  bool proximal;
  bool directed;
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  int64_t step;
};

template <class T>
struct FlowView {
  T* flow;            // [edges, width]
  T* first_moment;    // [edges, width]
  T* second_moment;   // [edges, width]
  const T* residual;  // null or [nodes, width]
  const T* extra;     // null or [edges, width]
  // Null, or [1]: a weight of the whole loss. Costs are so much of `costs`, and cost * sign(flow) is in
  // `extra`, as autograd has it.
  const T* cost_share;
  const int32_t* heads;
  const int32_t* tails;
  const T* costs;  // null or [edges]
  int64_t edges;
  int64_t width;
};

struct FlowStatistics {
  double cost = 0;       // sum of cost * |flow| after the step
  double nonzeros = 0;   // after the step
  double violation = 0;  // of optimality, before the step
};

template <class T>
FlowStatistics flow_step_cpu(const FlowStepRule& rule, const FlowView<T>& view);

// Each block of the GPU sums up what it steps over: this many blocks for as many elements.
int64_t flow_step_blocks(int64_t elements);

// The same; `step` stands for the rule's. `sums` is scratch, [flow_step_blocks(edges * width), 3];
// `statistics` [3], all on the device. Two launches: a thread owns four elements in the order of memory,
// which may be those of several edges, so that flow and moments move 16 bytes at a time for any width.
template <class T>
void flow_step_cuda(const FlowStepRule& rule, const StepNumber& step, const FlowView<T>& view, double* sums,
                    double* statistics, Stream stream);

}  // namespace qw::kernels
