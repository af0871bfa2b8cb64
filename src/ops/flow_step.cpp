#include "qw/ops/flow_step.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <array>
#include <cmath>
#include <string>

#include "kernels/flow_step.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

constexpr const char* kOp = "qw::_flow_step_";

void check_like_flow(const char* name, const at::Tensor& tensor, const at::Tensor& flow) {
  TORCH_CHECK(tensor.sizes() == flow.sizes() && tensor.scalar_type() == flow.scalar_type() &&
                  tensor.device() == flow.device() && tensor.is_contiguous(),
              kOp, ": ", name, " must be ", flow.sizes(), " of ", flow.scalar_type(), " on ", flow.device(),
              ", contiguous; got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device(),
              tensor.is_contiguous() ? "" : ", not contiguous");
}

void check_flow_step(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                     const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges, double lr,
                     double weight_decay, int64_t step, const at::Tensor& measures) {
  check_index(kOp, "heads", edges.heads, at::kInt, flow);
  check_index(kOp, "tails", edges.tails, at::kInt, flow);
  check_matrix(kOp, "flow", flow, edges.heads.size(0), "edge");
  TORCH_CHECK(edges.tails.size(0) == edges.heads.size(0), kOp, ": there are ", edges.heads.size(0),
              " heads and ", edges.tails.size(0), " tails");
  TORCH_CHECK(flow.is_contiguous(), kOp, ": flow must be contiguous");
  check_like_flow("first_moment", first_moment, flow);
  check_like_flow("second_moment", second_moment, flow);
  const bool no_extra = extra.dim() == 1 && extra.size(0) == 0;
  if (!no_extra) check_like_flow("extra", extra, flow);
  const bool no_residual = residual.dim() == 1 && residual.size(0) == 0;
  TORCH_CHECK((no_residual || (residual.dim() == 2 && residual.size(1) == flow.size(1))) &&
                  residual.scalar_type() == flow.scalar_type() && residual.device() == flow.device(),
              kOp, ": residual must be [N, ", flow.size(1), "] or [0] of ", flow.scalar_type(), " on ",
              flow.device(), ", got ", residual.sizes(), " of ", residual.scalar_type(), " on ",
              residual.device());
  const at::Tensor& costs = edges.costs;
  TORCH_CHECK(costs.dim() == 1 && (costs.size(0) == flow.size(0) || costs.size(0) == 0) &&
                  costs.scalar_type() == flow.scalar_type() && costs.device() == flow.device() &&
                  costs.is_contiguous(),
              kOp, ": costs must be [", flow.size(0), "] or [0] of ", flow.scalar_type(), " on ",
              flow.device(), ", contiguous; got ", costs.sizes(), " of ", costs.scalar_type(), " on ",
              costs.device(), costs.is_contiguous() ? "" : ", not contiguous");
  TORCH_CHECK(lr >= 0.0 && std::isfinite(lr), kOp, ": lr must be finite and not negative, got ", lr);
  TORCH_CHECK(weight_decay >= 0.0 && std::isfinite(weight_decay), kOp,
              ": weight_decay must be finite and not negative, got ", weight_decay);
  TORCH_CHECK(step >= 1, kOp, ": step counts from 1, got ", step);
  TORCH_CHECK(measures.sizes() == at::IntArrayRef({3}) && measures.scalar_type() == at::kDouble &&
                  measures.device() == flow.device() && measures.is_contiguous(),
              kOp, ": measures must be [3] of Double on ", flow.device(), ", contiguous; got ",
              measures.sizes(), " of ", measures.scalar_type(), " on ", measures.device());
}

void check_cost_share(const Tensor& share, const Tensor& flow) {
  TORCH_CHECK(
      share.numel() <= 1 && share.scalar_type() == flow.scalar_type() && share.device() == flow.device(), kOp,
      ": cost_share must be one number of ", flow.scalar_type(), " on ", flow.device(), ", got ",
      share.sizes(), " of ", share.scalar_type(), " on ", share.device());
}

constexpr std::array<const char*, 2> kRules{"subgradient", "proximal"};  // as FlowRule

void flow_step_backend(const Tensor& flow, const Tensor& first_moment, const Tensor& second_moment,
                       const Tensor& heads, const Tensor& tails, const OptionalTensor& optional_residual,
                       const OptionalTensor& optional_extra, const OptionalTensor& optional_cost_share,
                       const OptionalTensor& optional_costs, std::string rule, double lr, double weight_decay,
                       int64_t step, bool directed, const Tensor& measures) {
  const bool proximal = choice(kOp, "rule", rule, kRules) == 1;
  const Tensor residual = or_empty(optional_residual, flow.options());
  const Tensor extra = or_empty(optional_extra, flow.options());
  const Tensor cost_share = or_empty(optional_cost_share, flow.options());
  const Tensor costs = or_empty(optional_costs, flow.options());
  check_flow_step(flow, first_moment, second_moment, residual, extra, {heads, tails, costs}, lr, weight_decay,
                  step, measures);
  check_cost_share(cost_share, flow);
  if (residual.dim() == 2) {
    check_entries(kOp, "heads", heads, 0, residual.size(0));
    check_entries(kOp, "tails", tails, 0, residual.size(0));
  }
  const Tensor rows = residual.contiguous();
  record_work(16 * flow.numel(), flow, flow, first_moment, first_moment, second_moment, second_moment, rows,
              extra, heads, tails, costs);
  for (const Tensor& changed : {flow, first_moment, second_moment}) {
    changed.unsafeGetTensorImpl()->bump_version();  // written through a pointer, which autograd does not see
  }
  const kernels::FlowStepRule how{proximal, directed, lr, 0.9, 0.999, 1e-8, weight_decay, step};
  auto* numbers = measures.data_ptr<double>();
  AT_DISPATCH_FLOATING_TYPES(flow.scalar_type(), "qw::_flow_step_", [&] {
    const kernels::FlowView<scalar_t> view{flow.data_ptr<scalar_t>(),
                                           first_moment.data_ptr<scalar_t>(),
                                           second_moment.data_ptr<scalar_t>(),
                                           data_or_null<scalar_t>(rows),
                                           data_or_null<scalar_t>(extra),
                                           data_or_null<scalar_t>(cost_share),
                                           heads.data_ptr<int32_t>(),
                                           tails.data_ptr<int32_t>(),
                                           data_or_null<scalar_t>(costs),
                                           flow.size(0),
                                           flow.size(1)};
    run_on(
        flow,
        [&] {
          const kernels::FlowStatistics statistics = kernels::flow_step_cpu(how, view);
          numbers[0] = statistics.cost;
          numbers[1] = statistics.nonzeros;
          numbers[2] = statistics.violation;
        },
        [&](auto stream) {
          const int64_t blocks = kernels::flow_step_blocks(flow.numel());
          const Tensor sums = at::empty({blocks, 3}, at::TensorOptions(at::kDouble).device(flow.device()));
          kernels::flow_step_cuda(how, flow_step_number(step), view, data_or_null<double>(sums), numbers,
                                  stream);
        });
  });
}

void flow_step_meta(const Tensor& flow, const Tensor& first_moment, const Tensor& second_moment,
                    const Tensor& heads, const Tensor& tails, const OptionalTensor& residual,
                    const OptionalTensor& extra, const OptionalTensor& cost_share,
                    const OptionalTensor& costs, std::string rule, double lr, double weight_decay,
                    int64_t step, bool, const Tensor& measures) {
  choice(kOp, "rule", rule, kRules);
  if (have_numbers(flow, first_moment, second_moment, heads, tails, residual, extra, cost_share, costs)) {
    const at::TensorOptions& options = flow.options();
    check_flow_step(flow, first_moment, second_moment, or_empty(residual, options), or_empty(extra, options),
                    {heads, tails, or_empty(costs, options)}, lr, weight_decay, step, measures);
  }
}

}  // namespace

QW_BACKENDS(library) { library.impl("_flow_step_", flow_step_backend); }

QW_META(library) { library.impl("_flow_step_", flow_step_meta); }

QW_NO_GRADIENT("_flow_step_")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "_flow_step_(Tensor(a!) flow, Tensor(b!) first_moment, Tensor(c!) second_moment, Tensor heads, "
      "Tensor tails, Tensor? residual, Tensor? extra, Tensor? cost_share, Tensor? costs, str rule, float lr, "
      "float weight_decay, int step, bool directed, Tensor(d!) measures) -> ()");
}

}  // namespace ops

void flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                const FlowStepOptions& options, const at::Tensor& measures) {
  ops::call_without_gradient<ops::flow_step_backend>(
      "qw::_flow_step_", flow, first_moment, second_moment, edges.heads, edges.tails, ops::or_none(residual),
      ops::or_none(extra), ops::OptionalTensor(), ops::or_none(edges.costs),
      ops::choice_name(ops::kRules, static_cast<int64_t>(options.rule)), options.lr, options.weight_decay,
      options.step, options.directed, measures);
}

at::Tensor flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                      const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                      const FlowStepOptions& options) {
  at::Tensor measures = at::empty({3}, at::TensorOptions(at::kDouble).device(flow.device()));
  flow_step_(flow, first_moment, second_moment, residual, extra, edges, options, measures);
  return measures;
}

}  // namespace qw
