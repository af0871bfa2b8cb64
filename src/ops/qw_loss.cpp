#include "qw/ops/qw_loss.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cmath>
#include <string>
#include <tuple>

#include "kernels/flow_cost.h"
#include "kernels/incidence.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/divergence_parts.h"
#include "ops/labelled_nodes.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

void check_costs(const char* op, const Tensor& costs, const Tensor& flow) {
  TORCH_CHECK(costs.dim() == 1 && (costs.size(0) == flow.size(0) || costs.size(0) == 0) &&
                  costs.scalar_type() == flow.scalar_type() && costs.device() == flow.device(),
              op, ": costs must be [", flow.size(0), "] of ", flow.scalar_type(), " on ", flow.device(),
              ", got ", costs.sizes(), " of ", costs.scalar_type(), " on ", costs.device());
}

void check_rows(const char* op, const char* name, const Tensor& rows, int64_t count, const Tensor& like) {
  TORCH_CHECK(rows.dim() == 2 && rows.size(0) == count && rows.size(1) == like.size(1) &&
                  rows.scalar_type() == like.scalar_type() && rows.device() == like.device(),
              op, ": ", name, " must be [", count, ", ", like.size(1), "] of ", like.scalar_type(), " on ",
              like.device(), ", got ", rows.sizes(), " of ", rows.scalar_type(), " on ", rows.device());
}

void check_qw_loss(const char* op, const Tensor& predictions, const Tensor& flow,
                   const IncidenceTensors& graph, const Tensor& costs) {
  check_incidence_tensors(op, graph, flow);
  check_matrix(op, "flow", flow, graph.heads.size(0), "edge");
  check_rows(op, "predictions", predictions, graph.offsets.size(0) - 1, flow);
  check_costs(op, costs, flow);
}

template <class T>
kernels::CostlyFlow<T> view_of(const Tensor& flow, const Tensor& costs) {
  return {data_or_null<T>(flow), data_or_null<T>(costs), flow.size(0), flow.size(1)};
}

Tensor transported(const Tensor& flow, const IncidenceTensors& graph) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return incidence(flow, graph);
}

// The weight of each term of the divergence.
double weight_of(const char* op, double lambda, const std::string& reduction, const LabelTensors& labels) {
  TORCH_CHECK(lambda >= 0 && std::isfinite(lambda), op, ": lambda must be finite and not negative, got ",
              lambda);
  const bool mean = choice(op, "reduction", reduction, std::array{"mean", "sum"}) == 0;
  return mean && labels.known > 0 ? lambda / static_cast<double>(labels.known) : lambda;
}

// The loss, and its gradient for the predictions.
std::tuple<Tensor, Tensor> qw_loss_forward_backend(const Tensor& predictions, const Tensor& flow,
                                                   at::TensorList graph_tensors, const Tensor& labels,
                                                   const OptionalTensor& mask,
                                                   const OptionalTensor& optional_costs,
                                                   const OptionalTensor& class_weights, std::string kind,
                                                   double lambda, std::string reduction) {
  constexpr const char* kOp = "qw::qw_loss";
  const IncidenceTensors graph = incidence_of(graph_tensors);
  const Tensor costs = or_empty(optional_costs, flow.options()).contiguous();
  check_qw_loss(kOp, predictions, flow, graph, costs);
  const LabelTensors labelled = labelled_nodes(kOp, divergence_kind(kOp, kind), predictions, labels, mask);
  const Tensor values = flow.contiguous();
  const OptionalTensor shift(transported(values, graph));
  Tensor value, residual;  // no binding: clang cannot capture one
  std::tie(value, residual) = divergence_backend(
      kind, predictions, labelled.nodes, or_none(labelled.classes), or_none(labelled.targets), shift,
      class_weights, weight_of(kOp, lambda, reduction, labelled), true, OptionalTensor());
  record_work(2 * values.numel(), values, costs);
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), kOp, [&] {
    const auto view = view_of<scalar_t>(values, costs);
    auto* sum = value.data_ptr<double>();
    run_on(
        values, [&] { *sum += kernels::flow_cost_cpu(view); },
        [&](auto stream) {
          const Tensor partials = at::empty({kernels::flow_cost_blocks(values.numel())}, value.options());
          kernels::flow_cost_cuda(view, data_or_null<double>(partials), sum, stream);
        });
  });
  return {value.to(flow.scalar_type()), residual};
}

// `gradient` times the gradients for predictions and flow.
std::tuple<Tensor, Tensor> qw_loss_backward_backend(const Tensor& gradient, const Tensor& residual,
                                                    const Tensor& flow, at::TensorList graph_tensors,
                                                    const OptionalTensor& optional_costs) {
  constexpr const char* kOp = "qw::_qw_loss_backward";
  const IncidenceTensors graph = incidence_of(graph_tensors);
  const Tensor costs = or_empty(optional_costs, flow.options()).contiguous();
  check_qw_loss(kOp, residual, flow, graph, costs);
  TORCH_CHECK(gradient.numel() == 1 && gradient.scalar_type() == flow.scalar_type() &&
                  gradient.device() == flow.device(),
              kOp, ": gradient must be one number of ", flow.scalar_type(), " on ", flow.device(), ", got ",
              gradient.sizes(), " of ", gradient.scalar_type(), " on ", gradient.device());
  const Tensor values = flow.contiguous(), rows = residual.contiguous(), scale = gradient.contiguous();
  Tensor result = at::empty(values.sizes(), values.options());
  record_work(4 * values.numel(), values, costs, graph.heads, graph.tails, rows, result);
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), kOp, [&] {
    const auto view = view_of<scalar_t>(values, costs);
    const kernels::FlowGradient<scalar_t> to{rows.data_ptr<scalar_t>(), graph.heads.data_ptr<int32_t>(),
                                             graph.tails.data_ptr<int32_t>(), scale.data_ptr<scalar_t>(),
                                             result.data_ptr<scalar_t>()};
    run_on(
        values, [&] { kernels::flow_gradient_cpu(view, to); },
        [&](auto stream) { kernels::flow_gradient_cuda(view, to, stream); });
  });
  return {rows * scale.view({1, 1}), result};
}

std::tuple<Tensor, Tensor> qw_loss_forward_meta(const Tensor& predictions, const Tensor& flow,
                                                at::TensorList graph, const Tensor& labels,
                                                const OptionalTensor& mask, const OptionalTensor& costs,
                                                const OptionalTensor&, std::string kind, double,
                                                std::string) {
  constexpr const char* kOp = "qw::qw_loss";
  const Divergence rule = divergence_kind(kOp, kind);
  if (have_numbers(predictions, flow, graph, labels, mask, costs)) {
    check_qw_loss(kOp, predictions, flow, incidence_of(graph), or_empty(costs, flow.options()));
    check_labels(kOp, rule, predictions, labels, mask);
  }
  return {at::empty({}, flow.options()), at::empty_symint(predictions.sym_sizes(), predictions.options())};
}

std::tuple<Tensor, Tensor> qw_loss_backward_meta(const Tensor&, const Tensor& residual, const Tensor& flow,
                                                 at::TensorList, const OptionalTensor&) {
  return {at::empty_symint(residual.sym_sizes(), residual.options()),
          at::empty_symint(flow.sym_sizes(), flow.options())};
}

Tensor qw_loss_backend(const Tensor& predictions, const Tensor& flow, at::TensorList graph,
                       const Tensor& labels, const OptionalTensor& mask, const OptionalTensor& costs,
                       const OptionalTensor& class_weights, std::string kind, double lambda,
                       std::string reduction, const OptionalTensor&) {
  return std::get<0>(call_without_gradient<qw_loss_forward_backend>("qw::_qw_loss_forward", predictions, flow,
                                                                    graph, labels, mask, costs, class_weights,
                                                                    kind, lambda, reduction));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LossInputs {
  IncidenceTensors graph;
  Tensor labels;
  OptionalTensor mask, costs, class_weights;
  std::string kind;
  double lambda;
  std::string reduction;
};

// L = sum_e w_e |F_e| + lambda * sum_v D(g_v + (S F)_v, y_v). With r = lambda * dD/dg, zero but at labelled
// nodes, and u = dL/d(value):
//   dL/dg = u r,    dL/dF = u (S^T r + w sign(F)).
// The backward pass is not differentiable again.
class QwLoss : public torch::autograd::Function<QwLoss> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& predictions, const Tensor& flow,
                        const OptionalTensor& unit, const LossInputs& inputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [value, residual] = call<qw_loss_forward_backend>(
        "qw::_qw_loss_forward", predictions, flow, tensors_of(inputs.graph), inputs.labels, inputs.mask,
        inputs.costs, inputs.class_weights, inputs.kind, inputs.lambda, inputs.reduction);
    context->saved_data["has_unit"] = unit.has_value();
    context->saved_data["unit_has_shape"] = unit.has_value() && unit->dim() != 0;
    variable_list saved = tensors_of(inputs.graph);
    saved.insert(saved.end(), {residual, flow, inputs.costs.value_or(Tensor())});
    context->save_for_backward(std::move(saved));
    return value;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::qw_loss: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    const Tensor& incoming = gradients[0];
    const auto [for_predictions, for_flow] =
        call_without_gradient<qw_loss_backward_backend>("qw::_qw_loss_backward", incoming, saved[4], saved[5],
                                                        at::TensorList(saved).slice(0, 4), or_none(saved[6]));
    const bool has_shape = context->saved_data["unit_has_shape"].toBool();
    const bool has_unit = context->saved_data["has_unit"].toBool();
    return {for_predictions, for_flow,
            !has_unit   ? Tensor()
            : has_shape ? incoming.unsqueeze(0)
                        : incoming.clone(),
            Tensor()};
  }
};

Tensor qw_loss_autograd(const Tensor& predictions, const Tensor& flow, at::TensorList graph,
                        const Tensor& labels, const OptionalTensor& mask, const OptionalTensor& costs,
                        const OptionalTensor& class_weights, std::string kind, double lambda,
                        std::string reduction, const OptionalTensor& unit) {
  TORCH_CHECK(!at::GradMode::is_enabled() ||
                  !(needs_gradient(costs) || needs_gradient(class_weights) || labels.requires_grad()),
              "qw::qw_loss: costs, labels and class_weights must not require a gradient, there is none; "
              "detach them");
  return QwLoss::apply(
      predictions, flow, unit,
      LossInputs{incidence_of(graph), labels, mask, costs, class_weights, kind, lambda, reduction});
}

}  // namespace

QW_BACKENDS(library) {
  library.impl("_qw_loss_forward", qw_loss_forward_backend);
  library.impl("_qw_loss_backward", qw_loss_backward_backend);
}

QW_META(library) {
  library.impl("_qw_loss_forward", qw_loss_forward_meta);
  library.impl("_qw_loss_backward", qw_loss_backward_meta);
}

TORCH_LIBRARY_IMPL(qw, CompositeExplicitAutograd, library) { library.impl("qw_loss", qw_loss_backend); }

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("qw_loss", qw_loss_autograd); }

QW_NO_GRADIENT("_qw_loss_forward", "_qw_loss_backward")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "qw_loss(Tensor predictions, Tensor flow, Tensor[] graph, Tensor labels, Tensor? mask=None, "
      "Tensor? costs=None, Tensor? class_weights=None, str kind='softmax', float lam=1.0, "
      "str reduction='mean', Tensor? unit=None) -> Tensor");
  library.def(
      "_qw_loss_forward(Tensor predictions, Tensor flow, Tensor[] graph, Tensor labels, Tensor? mask, "
      "Tensor? costs, Tensor? class_weights, str kind, float lam, str reduction) -> (Tensor, Tensor)");
  library.def(
      "_qw_loss_backward(Tensor gradient, Tensor residual, Tensor flow, Tensor[] graph, Tensor? costs) -> "
      "(Tensor, Tensor)");
}

}  // namespace ops

at::Tensor qw_loss(const at::Tensor& predictions, const at::Tensor& flow, const IncidenceTensors& graph,
                   const at::Tensor& labels, const at::Tensor& mask, const QwLossOptions& options) {
  return ops::call<ops::qw_loss_backend>(
      "qw::qw_loss", predictions, flow, ops::tensors_of(graph), labels, ops::or_none(mask),
      ops::or_none(options.costs), ops::or_none(options.class_weights), ops::name_of(options.kind),
      options.lambda, options.mean ? "mean" : "sum", ops::or_none(options.unit));
}

}  // namespace qw
