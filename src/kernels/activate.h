// Bias, activation and dropout in one pass, on raw pointers; the backward pass works from the result alone.
//
// Floor: forward one read and one write per element, backward two reads and one write; with dropout Philox's
// arithmetic beside it (dropout.h), which the backward passes of relu and ELU save: what relu dropped is 0,
// as is what it cut, and what ELU dropped is -0, which it never is otherwise.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"

namespace qw::kernels {

enum class Activate { kNone, kRelu, kElu };

// result [rows, width] = dropout(activation(x + bias)); bias is null or [width]; rule.p == 0 draws nothing.
template <class T>
void activate_cpu(Activate activation, const DropoutRule& rule, const T* x, const T* bias, int64_t rows,
                  int64_t width, T* result);

// From the result and its gradient: x_gradient [rows, width] and bias_gradient [width], unless null. With
// x_gradient null the gradient of x must be `gradient` itself (no activation, no dropout).
template <class T>
void activate_backward_cpu(Activate activation, const DropoutRule& rule, const T* result, const T* gradient,
                           int64_t rows, int64_t width, T* x_gradient, T* bias_gradient);

// The same; `epoch` stands for the rule's. A thread has some quads of elements, each of which a block of
// random bits serves, in the same four columns.
template <class T>
void activate_cuda(Activate activation, const DropoutRule& rule, const StepNumber& epoch, const T* x,
                   const T* bias, int64_t rows, int64_t width, T* result, Stream stream);

// Each block of the GPU sums up the columns of its rows: [this, width] numbers of scratch.
int64_t activate_backward_sums(Activate activation, int64_t rows, int64_t width);

// One launch, and one more for the bias; `sums` may be null without bias_gradient.
template <class T>
void activate_backward_cuda(Activate activation, const DropoutRule& rule, const StepNumber& epoch,
                            const T* result, const T* gradient, int64_t rows, int64_t width, T* x_gradient,
                            T* bias_gradient, T* sums, Stream stream);

}  // namespace qw::kernels
