#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/divergence.h"
#include "ops/counted.h"
#include "ops/divergence_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

template <class T>
const T* pointer_or_null(const Tensor& tensor) {
  return tensor.numel() == 0 ? nullptr : tensor.data_ptr<T>();
}

std::tuple<Tensor, Tensor> divergence_cpu(int64_t kind, const Tensor& predictions, const Tensor& shift,
                                          const Tensor& nodes, const Tensor& classes, const Tensor& targets,
                                          const Tensor& class_weights, double scale, bool with_gradient,
                                          const Tensor& addend) {
  check_divergence(kind, predictions, shift, {nodes, classes, targets, class_weights}, addend);
  const Tensor rows = predictions.contiguous();
  const Tensor shifts = shift.contiguous();
  const Tensor labels = targets.contiguous();
  const Tensor weights = class_weights.contiguous();
  Tensor gradient = with_gradient ? at::zeros(rows.sizes(), rows.options()) : at::empty({0}, rows.options());
  count(8 * nodes.numel() * rows.size(1), rows, shifts, nodes, classes, labels, gradient);
  double value = 0;
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::divergence", [&] {
    const kernels::LabelledRows<scalar_t> labelled{rows.data_ptr<scalar_t>(),
                                                   pointer_or_null<scalar_t>(shifts),
                                                   rows.size(1),
                                                   nodes.data_ptr<int32_t>(),
                                                   nodes.size(0),
                                                   pointer_or_null<int32_t>(classes),
                                                   pointer_or_null<scalar_t>(labels),
                                                   pointer_or_null<scalar_t>(weights)};
    value = kernels::divergence_cpu(static_cast<kernels::DivergenceKind>(kind), labelled, scale,
                                    with_gradient ? gradient.data_ptr<scalar_t>() : nullptr);
  });
  const at::TensorOptions in_double = rows.options().dtype(at::kDouble);
  if (addend.numel() == 0) return {at::scalar_tensor(value, in_double), gradient};
  Tensor both = at::empty({2}, in_double);
  both.data_ptr<double>()[0] = value;
  both.data_ptr<double>()[1] = *addend.data_ptr<double>() + value;
  return {both, gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) { library.impl("divergence", divergence_cpu); }

}  // namespace qw::ops
