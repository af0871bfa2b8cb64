// Normalisation of features, by column over the nodes (batch) or by node over the columns (layer). LibTorch's
// own add up what each thread has, so that their bits depend on the number of threads; these do not.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "qw/core/export.h"
#include "qw/ops/spmm.h"

namespace QW_PUBLIC qw {

// As torch.nn.BatchNorm1d: weight * (x - mean) / sqrt(variance + eps) + bias by column, for x [N, C] and all
// others [C]; float32 or float64 of one type. In training mean and variance are those of the N >= 2 rows (the
// variance divides by N), and the running ones, contiguous, are changed in place, by the same formula for
// both:
//   running_mean = (1 - momentum) * running_mean + momentum * mean,
// where the variance that goes into running_var divides by N - 1. Otherwise the running ones are used and
// left as they are. 0 <= momentum <= 1, eps > 0.
//
// Gradients for x, weight and bias, none for the running ones; no second derivative: create_graph is refused.
// Sums over rows are taken in float64 over blocks of rows whose size depends on N and C only, added in order:
// the same bits for any number of threads. O(N C). Throws c10::Error on shapes, types, devices or numbers
// that do not fit.
at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
                      double momentum = 0.1, double eps = 1e-5);

// batch_norm() in training with its momentum and eps, for x with the rows of one part of all [R, C]: mean and
// variance are those of the rows of all parts, which call it together. On the CPU.
at::Tensor batch_norm_of_parts(const std::shared_ptr<const RowExchange>& others, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& running_mean, const at::Tensor& running_var);

// As torch.nn.LayerNorm over the last dimension: weight * (x - mean) / sqrt(variance + eps) + bias, where
// mean and variance are those of the C entries of a row (the variance divides by C), for x [N, C] and weight
// and bias [C]. In all else as batch_norm.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps = 1e-5);

}  // namespace qw
