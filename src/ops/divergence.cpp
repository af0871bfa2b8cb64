#include "qw/ops/divergence.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <array>

#include "kernels/divergence.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/divergence_parts.h"
#include "ops/index_checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {

using at::Tensor;

constexpr std::array<const char*, 3> kKinds{"softmax", "least_squares", "bernoulli"};  // as Divergence

Divergence divergence_kind(const char* op, const std::string& name) {
  return static_cast<Divergence>(choice(op, "kind", name, kKinds));
}

std::string name_of(Divergence kind) { return choice_name(kKinds, static_cast<int64_t>(kind)); }

namespace {

constexpr const char* kOp = "qw::divergence";

void check_rows(const char* name, const at::Tensor& rows, int64_t count, const at::Tensor& predictions) {
  TORCH_CHECK(rows.numel() == 0 ||
                  (rows.dim() == 2 && rows.size(0) == count && rows.size(1) == predictions.size(1) &&
                   rows.scalar_type() == predictions.scalar_type() && rows.device() == predictions.device()),
              kOp, ": ", name, " must be [", count, ", ", predictions.size(1), "] or [0] of ",
              predictions.scalar_type(), " on ", predictions.device(), ", got ", rows.sizes(), " of ",
              rows.scalar_type(), " on ", rows.device());
}

void check_divergence(Divergence kind, const at::Tensor& predictions, const at::Tensor& shift,
                      const LabelTensors& labels, const at::Tensor& addend) {
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
  TORCH_CHECK(kind == Divergence::kSoftmax || count == 0 || by_target, kOp,
              ": classes serve softmax only; give targets");
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
  check_entries(kOp, "nodes", labels.nodes, 0, predictions.size(0));
  check_entries(kOp, "classes", labels.classes, 0, predictions.size(1));
}

}  // namespace

std::tuple<Tensor, Tensor> divergence_backend(std::string kind_name, const Tensor& predictions,
                                              const Tensor& nodes, const OptionalTensor& optional_classes,
                                              const OptionalTensor& optional_targets,
                                              const OptionalTensor& optional_shift,
                                              const OptionalTensor& optional_class_weights, double scale,
                                              bool with_gradient, const OptionalTensor& optional_addend) {
  const Divergence kind = divergence_kind(kOp, kind_name);
  const Tensor classes = or_empty(optional_classes, nodes.options());
  const Tensor targets = or_empty(optional_targets, predictions.options());
  const Tensor shift = or_empty(optional_shift, predictions.options());
  const Tensor class_weights = or_empty(optional_class_weights, predictions.options());
  const Tensor addend = or_empty(optional_addend, predictions.options().dtype(at::kDouble));
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

namespace {

std::tuple<Tensor, Tensor> divergence_meta(std::string kind, const Tensor& predictions, const Tensor& nodes,
                                           const OptionalTensor& classes, const OptionalTensor& targets,
                                           const OptionalTensor& shift, const OptionalTensor& class_weights,
                                           double, bool with_gradient, const OptionalTensor& addend) {
  const at::TensorOptions in_double = predictions.options().dtype(at::kDouble);
  if (have_numbers(predictions, nodes, classes, targets, shift, class_weights, addend)) {
    const at::TensorOptions& options = predictions.options();
    check_divergence(divergence_kind(kOp, kind), predictions, or_empty(shift, options),
                     {nodes, or_empty(classes, nodes.options()), or_empty(targets, options),
                      or_empty(class_weights, options)},
                     or_empty(addend, in_double));
  }
  return {addend.has_value() ? at::empty({2}, in_double) : at::empty({}, in_double),
          with_gradient ? at::empty_symint(predictions.sym_sizes(), predictions.options())
                        : at::empty({0}, predictions.options())};
}

}  // namespace

QW_BACKENDS(library) { library.impl("divergence", divergence_backend); }

QW_META(library) { library.impl("divergence", divergence_meta); }

QW_NO_GRADIENT("divergence")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "divergence(str kind, Tensor predictions, Tensor nodes, Tensor? classes=None, Tensor? targets=None, "
      "Tensor? shift=None, Tensor? class_weights=None, float scale=1.0, bool with_gradient=True, "
      "Tensor? addend=None) -> (Tensor, Tensor)");
}

}  // namespace ops

std::tuple<at::Tensor, at::Tensor> divergence(Divergence kind, const at::Tensor& predictions,
                                              const at::Tensor& shift, const LabelTensors& labels,
                                              double scale, bool with_gradient, const at::Tensor& addend) {
  return ops::call_without_gradient<ops::divergence_backend>(
      "qw::divergence", ops::name_of(kind), predictions, labels.nodes, ops::or_none(labels.classes),
      ops::or_none(labels.targets), ops::or_none(shift), ops::or_none(labels.class_weights), scale,
      with_gradient, ops::or_none(addend));
}

}  // namespace qw
