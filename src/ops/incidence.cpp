#include "qw/ops/incidence.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/incidence_checks.h"

namespace qw {
namespace ops {
namespace {

void check_graph(const char* op, const at::Tensor& values, const at::Tensor& heads, const at::Tensor& tails,
                 const at::Tensor& offsets, const at::Tensor& arcs) {
  check_index(op, "heads", heads, at::kInt, values);
  check_index(op, "tails", tails, at::kInt, values);
  check_index(op, "offsets", offsets, at::kLong, values);
  check_index(op, "arcs", arcs, at::kLong, values);
  TORCH_CHECK(tails.size(0) == heads.size(0), op, ": heads has ", heads.size(0), " edges but tails has ",
              tails.size(0));
  TORCH_CHECK(arcs.size(0) == 2 * heads.size(0), op, ": ", heads.size(0), " edges have ", 2 * heads.size(0),
              " arcs, got ", arcs.size(0));
  TORCH_CHECK(offsets.size(0) >= 1, op, ": offsets must have one entry more than there are nodes, got none");
}

}  // namespace

void check_incidence(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                     const at::Tensor& offsets, const at::Tensor& arcs) {
  check_graph("qw::incidence", flow, heads, tails, offsets, arcs);
  check_matrix("qw::incidence", "flow", flow, heads.size(0), "edge");
}

void check_incidence_into(const at::Tensor& result, const at::Tensor& flow, const at::Tensor& heads,
                          const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs) {
  constexpr const char* kOp = "qw::incidence_into_";
  check_graph(kOp, flow, heads, tails, offsets, arcs);
  check_matrix(kOp, "flow", flow, heads.size(0), "edge");
  const bool fits =
      result.dim() == 2 && result.size(0) == offsets.size(0) - 1 && result.size(1) == flow.size(1);
  TORCH_CHECK(fits && result.scalar_type() == flow.scalar_type() && result.device() == flow.device() &&
                  result.is_contiguous(),
              kOp, ": result must be contiguous [", offsets.size(0) - 1, ", ", flow.size(1), "] of ",
              flow.scalar_type(), " on ", flow.device(), ", got ", result.is_contiguous() ? "" : "strided ",
              result.sizes(), " of ", result.scalar_type(), " on ", result.device());
}

void check_incidence_transpose(const at::Tensor& potential, const at::Tensor& heads, const at::Tensor& tails,
                               const at::Tensor& offsets, const at::Tensor& arcs) {
  check_graph("qw::incidence_transpose", potential, heads, tails, offsets, arcs);
  check_matrix("qw::incidence_transpose", "potential", potential, offsets.size(0) - 1, "node");
}

}  // namespace ops

namespace {

using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                             const at::Tensor&);

}  // namespace

at::Tensor incidence(const at::Tensor& flow, const IncidenceTensors& graph) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::incidence", "").typed<Signature>();
  return op.call(flow, graph.heads, graph.tails, graph.offsets, graph.arcs);
}

void incidence_into(const at::Tensor& flow, const IncidenceTensors& graph, const at::Tensor& result) {
  using Into = void(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                    const at::Tensor&, const at::Tensor&);
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::incidence_into_", "").typed<Into>();
  const at::NoGradGuard no_gradient;
  op.call(result, flow, graph.heads, graph.tails, graph.offsets, graph.arcs);
}

at::Tensor incidence_transpose(const at::Tensor& potential, const IncidenceTensors& graph) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("qw::incidence_transpose", "").typed<Signature>();
  return op.call(potential, graph.heads, graph.tails, graph.offsets, graph.arcs);
}

}  // namespace qw

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("incidence(Tensor flow, Tensor heads, Tensor tails, Tensor offsets, Tensor arcs) -> Tensor");
  library.def(
      "incidence_into_(Tensor(a!) result, Tensor flow, Tensor heads, Tensor tails, Tensor offsets, "
      "Tensor arcs) -> ()");
  library.def(
      "incidence_transpose(Tensor potential, Tensor heads, Tensor tails, Tensor offsets, Tensor arcs) -> "
      "Tensor");
}
