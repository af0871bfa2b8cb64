// Divergences between predictions and labels, on raw pointers.
//
// Floor: the rows of the labelled nodes read, their gradient written, the rest of the gradient zeroed; one
// exponential per element for softmax, one and a logarithm for Bernoulli.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

enum class DivergenceKind { kSoftmax, kLeastSquares, kBernoulli };

template <class T>
struct LabelledRows {
  const T* predictions;  // [N, width]
  const T* shift;        // null or [N, width]
  int64_t width;
  const int32_t* nodes;  // [count]
  int64_t count;
  const int32_t* classes;  // null or [count]
  const T* targets;        // null or [count, width]
  const T* class_weights;  // null or [width]
};

// Returns scale * the sum over rows; writes scale * its gradient to the rows `nodes` of `gradient`
// [N, width], unless null.
template <class T>
double divergence_cpu(DivergenceKind kind, const LabelledRows<T>& rows, double scale, T* gradient);

// How divergence_cuda divides its work; both sizes are what the caller must bring.
struct DivergencePlan {
  int64_t partials = 0;          // numbers of scratch; 0: one launch does everything
  bool zeroes_gradient = false;  // else the caller must
};
DivergencePlan divergence_plan(int64_t count, int64_t width, int64_t gradient_bytes);

// Writes the value to `value`, and the gradient as above: its other rows must be zero before, unless the plan
// says that they become so (`num_nodes` of them in all).
template <class T>
void divergence_cuda(DivergenceKind kind, const LabelledRows<T>& rows, int64_t num_nodes, double scale,
                     T* gradient, double* partials, double* value, Stream stream);

}  // namespace qw::kernels
