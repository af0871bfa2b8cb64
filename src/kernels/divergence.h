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

// Blocks that sum up apart.
int64_t divergence_blocks(int64_t count, int64_t width);

// Writes the value to value[0] and, unless `addend` is null, *addend plus it to value[1]; and the gradient as
// above. `partials` is scratch, one number a block.
template <class T>
void divergence_cuda(DivergenceKind kind, const LabelledRows<T>& rows, double scale, T* gradient,
                     double* partials, const double* addend, double* value, Stream stream);

}  // namespace qw::kernels
