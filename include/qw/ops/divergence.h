// Bregman divergences between predictions and labels on a set of nodes, with their gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// For predictions z and labels y of a node, summed over its classes c:
//   kSoftmax       KL(y | softmax(z)): for one class per node the cross-entropy -log softmax(z)_y
//   kLeastSquares  (z_c - y_c)^2
//   kBernoulli     KL(y_c | sigmoid(z_c)): for 0/1 labels the binary cross-entropy of logits
enum class Divergence : int64_t { kSoftmax, kLeastSquares, kBernoulli };

// The nodes whose labels are compared, and these labels: `classes` or `targets`, the other [0]. All on one
// device; nodes and classes contiguous.
struct LabelTensors {
  at::Tensor nodes;          // [n] int32, no node twice
  at::Tensor classes;        // [n] int32 in [0, C): kSoftmax only
  at::Tensor targets;        // [n, C], the type of the predictions; NaN where unknown: adds nothing
  at::Tensor class_weights;  // [C], the type of the predictions, or [0]: every class weighs 1
  int64_t known = 0;         // labels that are known: of nodes, or entries of targets; not read by operators
};

// predictions [N, C], float32 or float64 -> the value, a number [] in float64, and the gradient [N, C] of the
// predictions, zero but at `nodes` ([0] unless `with_gradient`). Both are multiplied by `scale`: 1 for the
// sum over nodes, 1 / n for the mean. `shift` [N, C], or [0] for none, is added to the predictions
// before anything else; its gradient is the same. The weight of a class multiplies its terms; with
// `classes`, the whole row of a node of that class.
//
// With an `addend`, [] in float64 on the device of the predictions, the value is [2]: itself, and the addend
// plus itself.
//
// Not an autograd operator: give the gradient to backward(). Sums are taken in float64 over blocks of rows of
// fixed size, in order: the same bits for any number of threads. O(N C). Throws c10::Error on shapes, types
// or devices that do not fit; indices and classes are trusted.
std::tuple<at::Tensor, at::Tensor> divergence(Divergence kind, const at::Tensor& predictions,
                                              const at::Tensor& shift, const LabelTensors& labels,
                                              double scale, bool with_gradient = true,
                                              const at::Tensor& addend = {});

}  // namespace qw
