#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/feature_norm.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/feature_norm_parts.h"
#include "ops/feature_norm_view.h"

namespace qw::ops {
namespace {

using at::Tensor;

Tensor room_for_sums(const Tensor& rows, bool needed) {
  return at::empty({needed ? kernels::norm_sums_size(rows.size(0), rows.size(1)) : 0},
                   rows.options().dtype(at::kDouble));
}

std::tuple<Tensor, Tensor> batch_forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                              const Tensor& running_mean, const Tensor& running_var,
                                              bool training, double momentum, double eps) {
  check_batch_norm({x, weight, bias, running_mean, running_var, training, momentum, eps});
  const c10::DeviceGuard device(x.device());
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), shifts = bias.contiguous();
  const int64_t width = rows.size(1);
  Tensor result = at::empty(rows.sizes(), rows.options());
  count(6 * rows.numel(), rows, rows, result);
  Tensor statistics = at::empty({2, width}, rows.options().dtype(at::kDouble));
  const Tensor sums = room_for_sums(rows, training);
  double* mean = statistics.data_ptr<double>();
  if (training) {
    mark_changed(running_mean);
    mark_changed(running_var);
  }
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::batch_norm", [&] {
    const kernels::RunningMoments<scalar_t> running{running_mean.data_ptr<scalar_t>(),
                                                    running_var.data_ptr<scalar_t>()};
    const auto normed = normed_of<scalar_t>(rows, scales, statistics);
    if (training) {
      kernels::batch_norm_training_cuda(normed, momentum, eps, running, shifts.data_ptr<scalar_t>(),
                                        result.data_ptr<scalar_t>(), mean, mean + width,
                                        sums.data_ptr<double>(), current_stream());
    } else {
      kernels::batch_norm_given_cuda(normed, eps, running, shifts.data_ptr<scalar_t>(),
                                     result.data_ptr<scalar_t>(), mean, mean + width, current_stream());
    }
  });
  return {result, statistics};
}

std::tuple<Tensor, Tensor, Tensor> batch_backward_cuda(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient,
                                                       bool training) {
  check_norm_backward("qw::batch_norm_backward", x, weight, statistics, gradient, x.size(-1));
  const c10::DeviceGuard device(x.device());
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), incoming = gradient.contiguous();
  const Tensor moments = statistics.contiguous();
  Tensor for_x = at::empty(rows.sizes(), rows.options());
  count(12 * rows.numel(), rows, rows, for_x, for_x);
  Tensor for_weight = at::empty({rows.size(1)}, rows.options());
  Tensor for_bias = at::empty({rows.size(1)}, rows.options());
  const Tensor sums = room_for_sums(rows, true);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::batch_norm_backward", [&] {
    kernels::batch_norm_backward_cuda(normed_of<scalar_t>(rows, scales, moments), training,
                                      incoming.data_ptr<scalar_t>(), for_x.data_ptr<scalar_t>(),
                                      for_weight.data_ptr<scalar_t>(), for_bias.data_ptr<scalar_t>(),
                                      sums.data_ptr<double>(), current_stream());
  });
  return {for_x, for_weight, for_bias};
}

std::tuple<Tensor, Tensor> layer_forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                              double eps) {
  check_layer_norm(x, weight, bias, eps);
  const c10::DeviceGuard device(x.device());
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), shifts = bias.contiguous();
  Tensor result = at::empty(rows.sizes(), rows.options());
  count(6 * rows.numel(), rows, rows, result);
  Tensor statistics = at::empty({2, rows.size(0)}, rows.options().dtype(at::kDouble));
  double* mean = statistics.data_ptr<double>();
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::layer_norm", [&] {
    kernels::layer_norm_cuda(normed_of<scalar_t>(rows, scales, statistics), eps, shifts.data_ptr<scalar_t>(),
                             result.data_ptr<scalar_t>(), mean, mean + rows.size(0), current_stream());
  });
  return {result, statistics};
}

std::tuple<Tensor, Tensor, Tensor> layer_backward_cuda(const Tensor& x, const Tensor& weight,
                                                       const Tensor& statistics, const Tensor& gradient) {
  check_norm_backward("qw::layer_norm_backward", x, weight, statistics, gradient, x.size(0));
  const c10::DeviceGuard device(x.device());
  const Tensor rows = x.contiguous(), scales = weight.contiguous(), incoming = gradient.contiguous();
  const Tensor moments = statistics.contiguous();
  Tensor for_x = at::empty(rows.sizes(), rows.options());
  count(12 * rows.numel(), rows, rows, for_x, for_x);
  Tensor for_weight = at::empty({rows.size(1)}, rows.options());
  Tensor for_bias = at::empty({rows.size(1)}, rows.options());
  const Tensor sums = room_for_sums(rows, true);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::layer_norm_backward", [&] {
    kernels::layer_norm_backward_cuda(normed_of<scalar_t>(rows, scales, moments),
                                      incoming.data_ptr<scalar_t>(), for_x.data_ptr<scalar_t>(),
                                      for_weight.data_ptr<scalar_t>(), for_bias.data_ptr<scalar_t>(),
                                      sums.data_ptr<double>(), current_stream());
  });
  return {for_x, for_weight, for_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("batch_norm_forward", batch_forward_cuda);
  library.impl("batch_norm_backward", batch_backward_cuda);
  library.impl("layer_norm_forward", layer_forward_cuda);
  library.impl("layer_norm_backward", layer_backward_cuda);
}

}  // namespace qw::ops
