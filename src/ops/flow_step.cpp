#include "qw/ops/flow_step.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "kernels/flow_step.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

using at::Tensor;

constexpr const char* kOp = "qw::flow_step_";

void check_like_flow(const char* name, const at::Tensor& tensor, const at::Tensor& flow) {
  TORCH_CHECK(tensor.sizes() == flow.sizes() && tensor.scalar_type() == flow.scalar_type() &&
                  tensor.device() == flow.device() && tensor.is_contiguous(),
              kOp, ": ", name, " must be ", flow.sizes(), " of ", flow.scalar_type(), " on ", flow.device(),
              ", contiguous; got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device(),
              tensor.is_contiguous() ? "" : ", not contiguous");
}

void check_flow_step(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                     const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                     int64_t rule, double lr, double weight_decay, int64_t step, const at::Tensor& measures) {
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
  TORCH_CHECK(residual.dim() == 2 && residual.size(1) == flow.size(1) &&
                  residual.scalar_type() == flow.scalar_type() && residual.device() == flow.device(),
              kOp, ": residual must be [N, ", flow.size(1), "] of ", flow.scalar_type(), " on ",
              flow.device(), ", got ", residual.sizes(), " of ", residual.scalar_type(), " on ",
              residual.device());
  const at::Tensor& costs = edges.costs;
  TORCH_CHECK(costs.dim() == 1 && (costs.size(0) == flow.size(0) || costs.size(0) == 0) &&
                  costs.scalar_type() == flow.scalar_type() && costs.device() == flow.device() &&
                  costs.is_contiguous(),
              kOp, ": costs must be [", flow.size(0), "] or [0] of ", flow.scalar_type(), " on ",
              flow.device(), ", contiguous; got ", costs.sizes(), " of ", costs.scalar_type(), " on ",
              costs.device(), costs.is_contiguous() ? "" : ", not contiguous");
  TORCH_CHECK(rule == 0 || rule == 1, kOp, ": rule must be 0 (subgradient) or 1 (proximal), got ", rule);
  TORCH_CHECK(lr >= 0.0 && std::isfinite(lr), kOp, ": lr must be finite and not negative, got ", lr);
  TORCH_CHECK(weight_decay >= 0.0 && std::isfinite(weight_decay), kOp,
              ": weight_decay must be finite and not negative, got ", weight_decay);
  TORCH_CHECK(step >= 1, kOp, ": step counts from 1, got ", step);
  TORCH_CHECK(measures.sizes() == at::IntArrayRef({3}) && measures.scalar_type() == at::kDouble &&
                  measures.device() == flow.device() && measures.is_contiguous(),
              kOp, ": measures must be [3] of Double on ", flow.device(), ", contiguous; got ",
              measures.sizes(), " of ", measures.scalar_type(), " on ", measures.device());
}

void flow_step_backend(const Tensor& flow, const Tensor& first_moment, const Tensor& second_moment,
                       const Tensor& residual, const Tensor& extra, const Tensor& heads, const Tensor& tails,
                       const Tensor& costs, int64_t rule, double lr, double weight_decay, int64_t step,
                       bool directed, const Tensor& measures) {
  check_flow_step(flow, first_moment, second_moment, residual, extra, {heads, tails, costs}, rule, lr,
                  weight_decay, step, measures);
  const Tensor rows = residual.contiguous();
  record_work(16 * flow.numel(), flow, flow, first_moment, first_moment, second_moment, second_moment, rows,
              extra, heads, tails, costs);
  for (const Tensor& changed : {flow, first_moment, second_moment}) {
    changed.unsafeGetTensorImpl()->bump_version();  // written through a pointer, which autograd does not see
  }
  const kernels::FlowStepRule how{rule == 1, directed, lr, 0.9, 0.999, 1e-8, weight_decay, step};
  auto* numbers = measures.data_ptr<double>();
  AT_DISPATCH_FLOATING_TYPES(flow.scalar_type(), "qw::flow_step_", [&] {
    const kernels::FlowView<scalar_t> view{flow.data_ptr<scalar_t>(),
                                           first_moment.data_ptr<scalar_t>(),
                                           second_moment.data_ptr<scalar_t>(),
                                           rows.data_ptr<scalar_t>(),
                                           data_or_null<scalar_t>(extra),
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

}  // namespace

QW_BACKENDS(library) { library.impl("flow_step_", flow_step_backend); }

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "flow_step_(Tensor(a!) flow, Tensor(b!) first_moment, Tensor(c!) second_moment, "
      "Tensor residual, Tensor extra, Tensor heads, Tensor tails, Tensor costs, "
      "int rule, float lr, float weight_decay, int step, bool directed, Tensor(d!) measures) -> ()");
}

}  // namespace ops

void flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                const FlowStepOptions& options, const at::Tensor& measures) {
  const at::NoGradGuard no_gradient;
  ops::call<ops::flow_step_backend>("qw::flow_step_", flow, first_moment, second_moment, residual, extra,
                                    edges.heads, edges.tails, edges.costs, static_cast<int64_t>(options.rule),
                                    options.lr, options.weight_decay, options.step, options.directed,
                                    measures);
}

at::Tensor flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                      const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                      const FlowStepOptions& options) {
  at::Tensor measures = at::empty({3}, at::TensorOptions(at::kDouble).device(flow.device()));
  flow_step_(flow, first_moment, second_moment, residual, extra, edges, options, measures);
  return measures;
}

}  // namespace qw
