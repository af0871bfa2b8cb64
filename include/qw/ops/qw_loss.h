// The Quasi-Wasserstein loss as one operator of autograd, for any model in any program.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"
#include "qw/ops/divergence.h"
#include "qw/ops/incidence.h"

namespace QW_PUBLIC qw {

// What the loss weighs, and how.
struct QwLossOptions {
  Divergence kind = Divergence::kSoftmax;  // between predictions and labels
  double weight = 1.0;                     // of the sum of divergences: lambda / n for the mean over n nodes
};

// sum over edges of cost * |flow| + weight * sum over labelled nodes of the divergence between
// predictions + S flow and the labels, a number [] of the type of the predictions.
//
//   predictions  [N, C], float32 or float64
//   flow         [E, C]
//   costs        [E], not negative, or undefined: every edge costs 1
//   unit         a number [] or [1], 1, or undefined: adds unit - 1 to the loss, and so has the gradient that
//   comes
//                in, by which a proximal step tells the part of the flow's gradient that the cost has
//
// All of one type, on one device. Gradients for predictions, flow and unit; that of the flow is a
// subgradient, with sign(0) = 0; none for labels and costs, and none of second order. Beside the results it
// makes S flow and the gradient of the predictions, [N, C] each, and nothing of the flow's size but its
// gradient. The same bits for any number of threads. O((N + E) C). Throws c10::Error on what does not fit.
at::Tensor qw_loss(const at::Tensor& predictions, const at::Tensor& flow, const IncidenceTensors& graph,
                   const LabelTensors& labels, const at::Tensor& costs = {},
                   const QwLossOptions& options = {}, const at::Tensor& unit = {});

}  // namespace qw
