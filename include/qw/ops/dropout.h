// Dropout whose mask is a pure function of (seed, epoch, layer, place): nothing is stored for the backward
// pass, and a resumed run, or one with other threads, drops the same elements.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Names a mask. The layer keeps several dropouts of one epoch apart.
struct DropoutKey {
  int64_t seed = 0;   // any
  int64_t epoch = 0;  // in [0, 2^32)
  int64_t layer = 0;  // in [0, 2^32)
  // [R] int64 where the values [R, C] are: these are such rows of a larger matrix, and have its mask.
  // Undefined: they are all there is.
  at::Tensor rows{};
};

// values, of any shape, float32 or float64 -> the same shape, contiguous. Element i in row-major order is
// divided by 1 - p when lane i % 4 of philox({i / 4, i / 4 >> 32, layer, epoch}, seed) is at least p * 2^32;
// else it is 0, whatever it was. 0 <= p < 1; with p == 0 the result is `values` itself, not a copy. (The
// operator torch.ops.qw.dropout, whose result may not share memory with its input, makes one.)
// Gradient: the same mask, drawn again, times the incoming one; differentiable any number of times. Nothing
// is summed: the same bits for any number of threads. O(elements), no memory but the result (non-contiguous
// values are copied). Throws c10::Error on a type, p, epoch or layer out of range.
at::Tensor dropout(const at::Tensor& values, double p, const DropoutKey& key);

// The same of values [begins[R]] that are rows of a longer list, row r being its elements firsts[r],
// firsts[r] + 1, ...: their mask is that of the whole list. begins [R + 1] and firsts [R] are int64, where
// the values are; key.rows has no use.
at::Tensor dropout_of_rows(const at::Tensor& values, const at::Tensor& begins, const at::Tensor& firsts,
                           double p, const DropoutKey& key);

}  // namespace qw
