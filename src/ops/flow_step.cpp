#include "qw/ops/flow_step.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <cmath>

#include "ops/checks.h"
#include "ops/flow_step_checks.h"

namespace qw {
namespace ops {
namespace {

constexpr const char* kOp = "qw::flow_step_";

void check_like_flow(const char* name, const at::Tensor& tensor, const at::Tensor& flow) {
  TORCH_CHECK(tensor.sizes() == flow.sizes() && tensor.scalar_type() == flow.scalar_type() &&
                  tensor.device() == flow.device() && tensor.is_contiguous(),
              kOp, ": ", name, " must be ", flow.sizes(), " of ", flow.scalar_type(), " on ", flow.device(),
              ", contiguous; got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device(),
              tensor.is_contiguous() ? "" : ", not contiguous");
}

}  // namespace

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

}  // namespace ops

void flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                const FlowStepOptions& options, const at::Tensor& measures) {
  using at::Tensor;
  using Signature =
      void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
           const Tensor&, const Tensor&, int64_t, double, double, int64_t, bool, const Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::flow_step_", "").typed<Signature>();
  const at::NoGradGuard no_gradient;
  op.call(flow, first_moment, second_moment, residual, extra, edges.heads, edges.tails, edges.costs,
          static_cast<int64_t>(options.rule), options.lr, options.weight_decay, options.step,
          options.directed, measures);
}

at::Tensor flow_step_(const at::Tensor& flow, const at::Tensor& first_moment, const at::Tensor& second_moment,
                      const at::Tensor& residual, const at::Tensor& extra, const FlowEdges& edges,
                      const FlowStepOptions& options) {
  at::Tensor measures = at::empty({3}, at::TensorOptions(at::kDouble).device(flow.device()));
  flow_step_(flow, first_moment, second_moment, residual, extra, edges, options, measures);
  return measures;
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "flow_step_(Tensor(a!) flow, Tensor(b!) first_moment, Tensor(c!) second_moment, "
      "Tensor residual, Tensor extra, Tensor heads, Tensor tails, Tensor costs, "
      "int rule, float lr, float weight_decay, int step, bool directed, Tensor(d!) measures) -> ()");
}
