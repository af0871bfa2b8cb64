#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/divergence.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/divergence_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> divergence_cuda(int64_t kind, const Tensor& predictions, const Tensor& shift,
                                           const Tensor& nodes, const Tensor& classes, const Tensor& targets,
                                           const Tensor& class_weights, double scale, bool with_gradient,
                                           const Tensor& addend) {
  check_divergence(kind, predictions, shift, {nodes, classes, targets, class_weights}, addend);
  const c10::DeviceGuard device(predictions.device());
  const Tensor rows = predictions.contiguous();
  const Tensor shifts = shift.contiguous();
  const Tensor labels = targets.contiguous();
  const Tensor weights = class_weights.contiguous();
  const int64_t blocks = kernels::divergence_blocks(nodes.size(0), rows.size(1));
  Tensor gradient = with_gradient ? at::empty(rows.sizes(), rows.options()) : at::empty({0}, rows.options());
  count(8 * nodes.numel() * rows.size(1), rows, shifts, nodes, classes, labels, gradient);
  const at::TensorOptions in_double = rows.options().dtype(at::kDouble);
  Tensor value = addend.numel() == 0 ? at::empty({}, in_double) : at::empty({2}, in_double);
  const Tensor partials = at::empty({blocks}, in_double);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::divergence", [&] {
    const kernels::LabelledRows<scalar_t> labelled{data_or_null<scalar_t>(rows),
                                                   data_or_null<scalar_t>(shifts),
                                                   rows.size(1),
                                                   data_or_null<int32_t>(nodes),
                                                   nodes.size(0),
                                                   data_or_null<int32_t>(classes),
                                                   data_or_null<scalar_t>(labels),
                                                   data_or_null<scalar_t>(weights)};
    kernels::divergence_cuda(static_cast<kernels::DivergenceKind>(kind), labelled, rows.size(0), scale,
                             data_or_null<scalar_t>(gradient), partials.data_ptr<double>(),
                             data_or_null<double>(addend), value.data_ptr<double>(), current_stream());
  });
  return {value, gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) { library.impl("divergence", divergence_cuda); }

}  // namespace qw::ops
