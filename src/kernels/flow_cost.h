// What a flow costs, and the gradient of the QW loss for it, on raw pointers.
//
// Floor: the cost reads the flow once; the gradient reads it once more, gathers two rows of the residual for
// each edge (from cache: it has one per node), and writes as much.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
struct CostlyFlow {
  const T* flow;   // [edges, width]
  const T* costs;  // null or [edges]
  int64_t edges;
  int64_t width;
};

// The sum of cost * |flow|.
template <class T>
double flow_cost_cpu(const CostlyFlow<T>& view);

// Each block of the GPU sums up a part of its own: this many.
int64_t flow_cost_blocks(int64_t elements);

// The same, added to `value[0]`; `partials` is scratch, one number a block.
template <class T>
void flow_cost_cuda(const CostlyFlow<T>& view, double* partials, double* value, Stream stream);

template <class T>
struct FlowGradient {
  const T* residual;  // [nodes, width]
  const int32_t* heads;
  const int32_t* tails;
  const T* scale;  // [1]
  T* result;       // [edges, width]
};

// scale * (residual[head] - residual[tail] + cost * sign(flow)), with sign(0) = 0.
template <class T>
void flow_gradient_cpu(const CostlyFlow<T>& view, const FlowGradient<T>& gradient);
template <class T>
void flow_gradient_cuda(const CostlyFlow<T>& view, const FlowGradient<T>& gradient, Stream stream);

}  // namespace qw::kernels
