#include "qw/ops/divergence.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include "kernels/divergence.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

constexpr const char* kOp = "qw::divergence";

void check_rows(const char* name, const at::Tensor& rows, int64_t count, const at::Tensor& predictions) {
  TORCH_CHECK(rows.numel() == 0 ||
                  (rows.dim() == 2 && rows.size(0) == count && rows.size(1) == predictions.size(1) &&
                   rows.scalar_type() == predictions.scalar_type() && rows.device() == predictions.device()),
              kOp, ": ", name, " must be [", count, ", ", predictions.size(1), "] or [0] of ",
              predictions.scalar_type(), " on ", predictions.device(), ", got ", rows.sizes(), " of ",
              rows.scalar_type(), " on ", rows.device());
}

void check_divergence(int64_t kind, const at::Tensor& predictions, const at::Tensor& shift,
                      const LabelTensors& labels, const at::Tensor& addend) {
  TORCH_CHECK(kind >= 0 && kind <= 2, kOp,
              ": kind must be 0 (softmax), 1 (least squares) or 2 (Bernoulli), got ", kind);
  TORCH_CHECK(predictions.dim() == 2, kOp, ": predictions must be [N, C], got ", predictions.sizes());
  check_matrix(kOp, "predictions", predictions, predictions.size(0), "node");
  check_index(kOp, "nodes", labels.nodes, at::kInt, predictions);
  check_index(kOp, "classes", labels.classes, at::kInt, predictions);
  const int64_t count = labels.nodes.size(0);
  check_rows("shift", shift, predictions.size(0), predictions);
  check_rows("targets", labels.targets, count, predictions);
  const bool by_class = labels.classes.size(0) == count && labels.targets.numel() == 0;
  const bool by_target = labels.classes.size(0) == 0 && labels.targets.numel() != 0;
  TORCH_CHECK(by_class || by_target, kOp, ": ", count,
              " nodes need as many classes or rows of targets, and not both; got ", labels.classes.size(0),
              " classes and targets ", labels.targets.sizes());
  TORCH_CHECK(kind == 0 || count == 0 || by_target, kOp, ": classes serve softmax only; give targets");
  const at::Tensor& weights = labels.class_weights;
  TORCH_CHECK(weights.dim() == 1 && (weights.size(0) == 0 || weights.size(0) == predictions.size(1)) &&
                  weights.scalar_type() == predictions.scalar_type() &&
                  weights.device() == predictions.device(),
              kOp, ": class_weights must be [", predictions.size(1), "] or [0] of ",
              predictions.scalar_type(), " on ", predictions.device(), ", got ", weights.sizes(), " of ",
              weights.scalar_type(), " on ", weights.device());
  TORCH_CHECK(addend.dim() <= 1 && addend.numel() <= 1 && addend.scalar_type() == at::kDouble &&
                  addend.device() == predictions.device(),
              kOp, ": addend must be one number, or [0], of Double on ", predictions.device(), ", got ",
              addend.sizes(), " of ", addend.scalar_type(), " on ", addend.device());
}

std::tuple<Tensor, Tensor> divergence_backend(int64_t kind, const Tensor& predictions, const Tensor& shift,
                                              const Tensor& nodes, const Tensor& classes,
                                              const Tensor& targets, const Tensor& class_weights,
                                              double scale, bool with_gradient, const Tensor& addend) {
  check_divergence(kind, predictions, shift, {nodes, classes, targets, class_weights}, addend);
  const Tensor rows = predictions.contiguous();
  const Tensor shifts = shift.contiguous();
  const Tensor labels = targets.contiguous();
  const Tensor weights = class_weights.contiguous();
  Tensor gradient = with_gradient ? at::zeros(rows.sizes(), rows.options()) : at::empty({0}, rows.options());
  record_work(8 * nodes.numel() * rows.size(1), rows, shifts, nodes, classes, labels, gradient);
  const at::TensorOptions in_double = rows.options().dtype(at::kDouble);
  Tensor value = addend.numel() == 0 ? at::empty({}, in_double) : at::empty({2}, in_double);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::divergence", [&] {
    const auto rule = static_cast<kernels::DivergenceKind>(kind);
    const kernels::LabelledRows<scalar_t> labelled{data_or_null<scalar_t>(rows),
                                                   data_or_null<scalar_t>(shifts),
                                                   rows.size(1),
                                                   data_or_null<int32_t>(nodes),
                                                   nodes.size(0),
                                                   data_or_null<int32_t>(classes),
                                                   data_or_null<scalar_t>(labels),
                                                   data_or_null<scalar_t>(weights)};
    run_on(
        rows,
        [&] {
          double* sums = value.data_ptr<double>();
          sums[0] = kernels::divergence_cpu(rule, labelled, scale, data_or_null<scalar_t>(gradient));
          if (addend.numel() != 0) sums[1] = *addend.data_ptr<double>() + sums[0];
        },
        [&](auto stream) {
          const int64_t blocks = kernels::divergence_blocks(nodes.size(0), rows.size(1));
          const Tensor partials = at::empty({blocks}, in_double);
          kernels::divergence_cuda(rule, labelled, scale, data_or_null<scalar_t>(gradient),
                                   partials.data_ptr<double>(), data_or_null<double>(addend),
                                   value.data_ptr<double>(), stream);
        });
  });
  return {value, gradient};
}

}  // namespace

QW_BACKENDS(library) { library.impl("divergence", divergence_backend); }

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "divergence(int kind, Tensor predictions, Tensor shift, Tensor nodes, Tensor classes, Tensor targets, "
      "Tensor class_weights, float scale, bool with_gradient, Tensor addend) -> (Tensor, Tensor)");
}

}  // namespace ops

std::tuple<at::Tensor, at::Tensor> divergence(Divergence kind, const at::Tensor& predictions,
                                              const at::Tensor& shift, const LabelTensors& labels,
                                              double scale, bool with_gradient, const at::Tensor& addend) {
  const at::NoGradGuard no_gradient;
  return ops::call<ops::divergence_backend>(
      "qw::divergence", static_cast<int64_t>(kind), predictions, shift, labels.nodes, labels.classes,
      labels.targets, labels.class_weights, scale, with_gradient,
      addend.defined() ? addend : at::empty({0}, predictions.options().dtype(at::kDouble)));
}

}  // namespace qw
