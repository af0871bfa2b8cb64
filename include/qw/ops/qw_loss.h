// The Quasi-Wasserstein loss as one operator of autograd, for any model in any program.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/divergence.h"
#include "qw/ops/incidence.h"

namespace QW_PUBLIC qw {

// What the loss weighs, and how. Tensors may be undefined.
struct QwLossOptions {
  Divergence kind = Divergence::kSoftmax;  // between predictions and labels
  double lambda = 1.0;                     // weight of the divergence
  bool mean = true;            // over the labelled nodes (of values: over known ones); else the sum
  at::Tensor costs{};          // [E], not negative; undefined: every edge costs 1
  at::Tensor class_weights{};  // [C]; undefined: every class weighs 1
  // A number [] or [1], 1. The loss has unit - 1 added to it, so that the unit's gradient is what comes in: a
  // proximal step tells by it how much of the flow's gradient is the cost's.
  at::Tensor unit{};
};

// sum over edges of cost * |flow| + lambda * the mean (or sum) over labelled nodes of the divergence between
// predictions + S flow and the labels: a number [] of the type of the predictions.
//
//   predictions  [N, C], float32 or float64
//   flow         [E, C] of the same type
//   labels       [N] of integers: classes in [0, C), negative where unknown; or [N, C] of the type of the
//                predictions: values, 0/1 labels or distributions, NaN where unknown
//   mask         [N] of bool, or numbers of nodes, none twice: who counts; undefined: all that are known
//
// All on one device. Gradients for predictions, flow and unit; that of the flow is a subgradient, with
// sign(0) = 0; none for the others, and none of second order. Nothing of the flow's size is made but its
// gradient. What labels and mask come to is remembered until one of them changes, so that a GPU is waited for
// once. The same bits for any number of threads. O((N + E) C). Throws c10::Error on what does not fit.
at::Tensor qw_loss(const at::Tensor& predictions, const at::Tensor& flow, const IncidenceTensors& graph,
                   const at::Tensor& labels, const at::Tensor& mask = {}, const QwLossOptions& options = {});

}  // namespace qw
