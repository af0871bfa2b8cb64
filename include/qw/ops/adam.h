// Adam over a list of parameters, in one pass over their memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// One step of torch.optim.Adam (not AdamW), in place: with g = gradient + weight_decay * parameter,
//   m = beta1 m + (1 - beta1) g,    v = beta2 v + (1 - beta2) g^2,
//   parameter -= lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps),
// where m and v are the first and second moment, zeros before the first step, and `step` counts from 1.
//
// The four lists go together, entry by entry: same shapes of any kind and the same strides, without holes (a
// transposed matrix will do), one type for the whole call (float32 or float64), no tensor twice (not
// checked). A parameter whose gradient is undefined is skipped: it and its moments are neither read nor
// checked. Parameters may be leaves that require a gradient; no gradient goes through the step, and what was
// saved of a parameter for a backward pass becomes stale, as with any change in place. Nothing is summed: the
// same bits for any number of threads. O(elements), all tensors in one parallel region, no memory. On the CPU
// only.
//
// Throws c10::Error, before anything is written, on lists, shapes, types or devices that do not fit, on lr,
// eps or weight_decay that are negative or not finite, on betas outside [0, 1) and on a step below 1.
void adam_(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
           at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step);

}  // namespace qw
