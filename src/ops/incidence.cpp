#include "qw/ops/incidence.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/incidence.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"

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

void incidence_into_backend(const at::Tensor& result, const at::Tensor& flow, const at::Tensor& heads,
                            const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence_into(result, flow, heads, tails, offsets, arcs);
  const at::Tensor rows = flow.contiguous();
  const int64_t width = rows.size(1), nodes = offsets.size(0) - 1;
  record_work(arcs.numel() * width, offsets, arcs, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence", [&] {
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const int64_t* arcs_from = offsets.data_ptr<int64_t>();
    const int64_t* arc = arcs.data_ptr<int64_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::incidence_cpu(from, width, arcs_from, arc, nodes, to); },
        [&](auto stream) {
          kernels::incidence_cuda(from, width, arcs_from, arc, nodes, heads.size(0), to, stream);
        });
  });
}

at::Tensor incidence_backend(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                             const at::Tensor& offsets, const at::Tensor& arcs) {
  check_incidence(flow, heads, tails, offsets, arcs);
  at::Tensor result = at::empty({offsets.size(0) - 1, flow.size(1)}, flow.options());
  incidence_into_backend(result, flow, heads, tails, offsets, arcs);
  return result;
}

at::Tensor incidence_transpose_backend(const at::Tensor& potential, const at::Tensor& heads,
                                       const at::Tensor& tails, const at::Tensor& offsets,
                                       const at::Tensor& arcs) {
  check_incidence_transpose(potential, heads, tails, offsets, arcs);
  const at::Tensor rows = potential.contiguous();
  const int64_t edges = heads.size(0), width = rows.size(1);
  at::Tensor result = at::empty({edges, width}, rows.options());
  record_work(edges * width, heads, tails, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence_transpose", [&] {
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const int32_t* head = heads.data_ptr<int32_t>();
    const int32_t* tail = tails.data_ptr<int32_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::incidence_transpose_cpu(from, width, head, tail, edges, to); },
        [&](auto stream) { kernels::incidence_transpose_cuda(from, width, head, tail, edges, to, stream); });
  });
  return result;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Operator = at::Tensor (*)(const at::Tensor&, const IncidenceTensors&);

// Y = S F is linear: dL/dF = S^T dL/dY, and dL/dZ = S dL/dY for Y = S^T Z. Each is the other's backward, to
// any order.
template <Operator kForward, Operator kBackward>
class LinearInValues : public torch::autograd::Function<LinearInValues<kForward, kBackward>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& heads,
                            const at::Tensor& tails, const at::Tensor& offsets, const at::Tensor& arcs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward({heads, tails, offsets, arcs});
    return kForward(values, {heads, tails, offsets, arcs});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = kBackward(gradients[0], {saved[0], saved[1], saved[2], saved[3]});
    return {gradient, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

using Incidence = LinearInValues<incidence, incidence_transpose>;
using IncidenceTranspose = LinearInValues<incidence_transpose, incidence>;

at::Tensor incidence_autograd(const at::Tensor& flow, const at::Tensor& heads, const at::Tensor& tails,
                              const at::Tensor& offsets, const at::Tensor& arcs) {
  return Incidence::apply(flow, heads, tails, offsets, arcs);
}

at::Tensor incidence_transpose_autograd(const at::Tensor& potential, const at::Tensor& heads,
                                        const at::Tensor& tails, const at::Tensor& offsets,
                                        const at::Tensor& arcs) {
  return IncidenceTranspose::apply(potential, heads, tails, offsets, arcs);
}

}  // namespace

QW_BACKENDS(library) {
  library.impl("incidence", incidence_backend);
  library.impl("incidence_into_", incidence_into_backend);
  library.impl("incidence_transpose", incidence_transpose_backend);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("incidence", incidence_autograd);
  library.impl("incidence_transpose", incidence_transpose_autograd);
}

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("incidence(Tensor flow, Tensor heads, Tensor tails, Tensor offsets, Tensor arcs) -> Tensor");
  library.def(
      "incidence_into_(Tensor(a!) result, Tensor flow, Tensor heads, Tensor tails, Tensor offsets, "
      "Tensor arcs) -> ()");
  library.def(
      "incidence_transpose(Tensor potential, Tensor heads, Tensor tails, Tensor offsets, Tensor arcs) -> "
      "Tensor");
}

}  // namespace ops

at::Tensor incidence(const at::Tensor& flow, const IncidenceTensors& graph) {
  return ops::call<ops::incidence_backend>("qw::incidence", flow, graph.heads, graph.tails, graph.offsets,
                                           graph.arcs);
}

void incidence_into(const at::Tensor& flow, const IncidenceTensors& graph, const at::Tensor& result) {
  const at::NoGradGuard no_gradient;
  ops::call<ops::incidence_into_backend>("qw::incidence_into_", result, flow, graph.heads, graph.tails,
                                         graph.offsets, graph.arcs);
}

at::Tensor incidence_transpose(const at::Tensor& potential, const IncidenceTensors& graph) {
  return ops::call<ops::incidence_transpose_backend>("qw::incidence_transpose", potential, graph.heads,
                                                     graph.tails, graph.offsets, graph.arcs);
}

}  // namespace qw
