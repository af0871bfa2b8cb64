#include "qw/ops/incidence.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/incidence.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

void check_incidence(const char* op, const at::Tensor& flow, const IncidenceTensors& graph) {
  check_incidence_tensors(op, graph, flow);
  check_matrix(op, "flow", flow, graph.heads.size(0), "edge");
}

void check_incidence_into(const at::Tensor& result, const at::Tensor& flow, const IncidenceTensors& graph) {
  constexpr const char* kOp = "qw::_incidence_into_";
  check_incidence(kOp, flow, graph);
  const int64_t nodes = graph.offsets.size(0) - 1;
  const bool fits = result.dim() == 2 && result.size(0) == nodes && result.size(1) == flow.size(1);
  TORCH_CHECK(fits && result.scalar_type() == flow.scalar_type() && result.device() == flow.device() &&
                  result.is_contiguous(),
              kOp, ": result must be contiguous [", nodes, ", ", flow.size(1), "] of ", flow.scalar_type(),
              " on ", flow.device(), ", got ", result.is_contiguous() ? "" : "strided ", result.sizes(),
              " of ", result.scalar_type(), " on ", result.device());
}

void incidence_into_backend(const at::Tensor& result, const at::Tensor& flow, at::TensorList graph_tensors) {
  const IncidenceTensors graph = incidence_of(graph_tensors);
  check_incidence_into(result, flow, graph);
  const at::Tensor rows = flow.contiguous();
  const int64_t width = rows.size(1), nodes = graph.offsets.size(0) - 1;
  record_work(graph.arcs.numel() * width, graph.offsets, graph.arcs, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence", [&] {
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const int64_t* offsets = graph.offsets.data_ptr<int64_t>();
    const int64_t* arcs = graph.arcs.data_ptr<int64_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::incidence_cpu(from, width, offsets, arcs, nodes, to); },
        [&](auto stream) {
          kernels::incidence_cuda(from, width, offsets, arcs, nodes, graph.heads.size(0), to, stream);
        });
  });
}

at::Tensor incidence_backend(const at::Tensor& flow, at::TensorList graph_tensors) {
  const IncidenceTensors graph = incidence_of(graph_tensors);
  check_incidence("qw::incidence", flow, graph);
  at::Tensor result = at::empty({graph.offsets.size(0) - 1, flow.size(1)}, flow.options());
  incidence_into_backend(result, flow, graph_tensors);
  return result;
}

void check_incidence_transpose(const at::Tensor& potential, const IncidenceTensors& graph) {
  constexpr const char* kOp = "qw::incidence_transpose";
  check_incidence_tensors(kOp, graph, potential);
  check_matrix(kOp, "potential", potential, graph.offsets.size(0) - 1, "node");
}

at::Tensor incidence_transpose_backend(const at::Tensor& potential, at::TensorList graph_tensors) {
  const IncidenceTensors graph = incidence_of(graph_tensors);
  check_incidence_transpose(potential, graph);
  const at::Tensor rows = potential.contiguous();
  const int64_t edges = graph.heads.size(0), width = rows.size(1);
  at::Tensor result = at::empty({edges, width}, rows.options());
  record_work(edges * width, graph.heads, graph.tails, rows, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::incidence_transpose", [&] {
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const int32_t* heads = graph.heads.data_ptr<int32_t>();
    const int32_t* tails = graph.tails.data_ptr<int32_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        rows, [&] { kernels::incidence_transpose_cpu(from, width, heads, tails, edges, to); },
        [&](auto stream) {
          kernels::incidence_transpose_cuda(from, width, heads, tails, edges, to, stream);
        });
  });
  return result;
}

at::Tensor incidence_meta(const at::Tensor& flow, at::TensorList graph) {
  if (have_numbers(flow, graph)) check_incidence("qw::incidence", flow, incidence_of(graph));
  return at::empty_symint({incidence_of(graph).offsets.sym_size(0) - 1, flow.sym_size(1)}, flow.options());
}

void incidence_into_meta(const at::Tensor& result, const at::Tensor& flow, at::TensorList graph) {
  if (have_numbers(result, flow, graph)) check_incidence_into(result, flow, incidence_of(graph));
}

at::Tensor incidence_transpose_meta(const at::Tensor& potential, at::TensorList graph) {
  if (have_numbers(potential, graph)) check_incidence_transpose(potential, incidence_of(graph));
  return at::empty_symint({incidence_of(graph).heads.sym_size(0), potential.sym_size(1)},
                          potential.options());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Operator = at::Tensor (*)(const at::Tensor&, const IncidenceTensors&);

// Y = S F is linear: dL/dF = S^T dL/dY, and dL/dZ = S dL/dY for Y = S^T Z. Each is the other's backward, to
// any order.
template <Operator kForward, Operator kBackward>
class LinearInValues : public torch::autograd::Function<LinearInValues<kForward, kBackward>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            const IncidenceTensors& graph) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward(tensors_of(graph));
    return kForward(values, graph);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {kBackward(gradients[0], incidence_of(context->get_saved_variables())), at::Tensor()};
  }
};

at::Tensor incidence_autograd(const at::Tensor& flow, at::TensorList graph) {
  return LinearInValues<incidence, incidence_transpose>::apply(flow, incidence_of(graph));
}

at::Tensor incidence_transpose_autograd(const at::Tensor& potential, at::TensorList graph) {
  return LinearInValues<incidence_transpose, incidence>::apply(potential, incidence_of(graph));
}

}  // namespace

QW_BACKENDS(library) {
  library.impl("incidence", incidence_backend);
  library.impl("incidence_transpose", incidence_transpose_backend);
  library.impl("_incidence_into_", incidence_into_backend);
}

QW_META(library) {
  library.impl("incidence", incidence_meta);
  library.impl("incidence_transpose", incidence_transpose_meta);
  library.impl("_incidence_into_", incidence_into_meta);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("incidence", incidence_autograd);
  library.impl("incidence_transpose", incidence_transpose_autograd);
}

QW_NO_GRADIENT("_incidence_into_")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("incidence(Tensor flow, Tensor[] graph) -> Tensor");
  library.def("incidence_transpose(Tensor potential, Tensor[] graph) -> Tensor");
  library.def("_incidence_into_(Tensor(a!) result, Tensor flow, Tensor[] graph) -> ()");
}

}  // namespace ops

at::Tensor incidence(const at::Tensor& flow, const IncidenceTensors& graph) {
  return ops::call<ops::incidence_backend>("qw::incidence", flow, ops::tensors_of(graph));
}

void incidence_into(const at::Tensor& flow, const IncidenceTensors& graph, const at::Tensor& result) {
  ops::call_without_gradient<ops::incidence_into_backend>("qw::_incidence_into_", result, flow,
                                                          ops::tensors_of(graph));
}

at::Tensor incidence_transpose(const at::Tensor& potential, const IncidenceTensors& graph) {
  return ops::call<ops::incidence_transpose_backend>("qw::incidence_transpose", potential,
                                                     ops::tensors_of(graph));
}

}  // namespace qw
