#include "qw/ops/edge_values.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/edge_values.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/edge_values_parts.h"
#include "ops/index_checks.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

void check_row(const char* op, const char* name, const at::Tensor& row, const char* size) {
  TORCH_CHECK(row.dim() == 1 && (row.scalar_type() == at::kFloat || row.scalar_type() == at::kDouble), op,
              ": ", name, " must be [", size, "] of float32 or float64, got ", row.sizes(), " of ",
              row.scalar_type());
}

void check_entries_of(const char* op, const at::Tensor& entries_of, int64_t edges, const at::Tensor& values) {
  TORCH_CHECK(entries_of.dim() == 2 && entries_of.size(0) == edges && entries_of.size(1) == 2 &&
                  entries_of.scalar_type() == at::kLong && entries_of.is_contiguous() &&
                  entries_of.device() == values.device(),
              op, ": entries_of must be contiguous [", edges, ", 2] of Long on ", values.device(), ", got ",
              entries_of.is_contiguous() ? "" : "strided ", entries_of.sizes(), " of ",
              entries_of.scalar_type(), " on ", entries_of.device());
}

void check_edge_values(const at::Tensor& weights, const EntryEdges& entries) {
  constexpr const char* kOp = "qw::edge_values";
  check_row(kOp, "weights", weights, "E");
  check_index(kOp, "edges", entries.edges, at::kLong, weights);
  check_entries_of(kOp, entries.entries_of, weights.size(0), weights);
  check_entries(kOp, "edges", entries.edges, -1, weights.size(0));
  check_entries(kOp, "entries_of", entries.entries_of, -1, entries.edges.size(0));
}

void check_edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of) {
  constexpr const char* kOp = "qw::_edge_values_backward";
  check_row(kOp, "gradient", gradient, "entries");
  check_entries_of(kOp, entries_of, entries_of.dim() == 0 ? 0 : entries_of.size(0), gradient);
  check_entries(kOp, "entries_of", entries_of, -1, gradient.size(0));
}

at::Tensor edge_values_backend(const at::Tensor& weights, const at::Tensor& edges,
                               const at::Tensor& entries_of) {
  check_edge_values(weights, {edges, entries_of});
  const at::Tensor given = weights.contiguous();
  const int64_t entries = edges.size(0);
  at::Tensor result = at::empty({entries}, given.options());
  record_work(0, given, edges, result);
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "qw::edge_values", [&] {
    const scalar_t* from = given.data_ptr<scalar_t>();
    const int64_t* edge = edges.data_ptr<int64_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        given, [&] { kernels::edge_values_cpu(from, edge, entries, to); },
        [&](auto stream) { kernels::edge_values_cuda(from, edge, entries, to, stream); });
  });
  return result;
}

at::Tensor edge_values_backward_backend(const at::Tensor& gradient, const at::Tensor& entries_of) {
  check_edge_values_backward(gradient, entries_of);
  const at::Tensor incoming = gradient.contiguous();
  const int64_t edges = entries_of.size(0);
  at::Tensor result = at::empty({edges}, incoming.options());
  record_work(edges, incoming, entries_of, result);
  AT_DISPATCH_FLOATING_TYPES(incoming.scalar_type(), "qw::_edge_values_backward", [&] {
    const scalar_t* from = incoming.data_ptr<scalar_t>();
    const int64_t* entries = entries_of.data_ptr<int64_t>();
    scalar_t* to = result.data_ptr<scalar_t>();
    run_on(
        incoming, [&] { kernels::edge_values_backward_cpu(from, entries, edges, to); },
        [&](auto stream) { kernels::edge_values_backward_cuda(from, entries, edges, to, stream); });
  });
  return result;
}

at::Tensor edge_values_meta(const at::Tensor& weights, const at::Tensor& edges,
                            const at::Tensor& entries_of) {
  if (have_numbers(weights, edges, entries_of)) check_edge_values(weights, {edges, entries_of});
  return at::empty_symint(edges.sym_sizes(), weights.options());
}

at::Tensor edge_values_backward_meta(const at::Tensor& gradient, const at::Tensor& entries_of) {
  if (have_numbers(gradient, entries_of)) check_edge_values_backward(gradient, entries_of);
  return at::empty_symint({entries_of.sym_size(0)}, gradient.options());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// v_k = w_e for entry k of edge e, 1 for an entry without one: dL/dw_e = sum of dL/dv_k over the entries of
// e. The backward pass is not differentiable again.
class EdgeValues : public torch::autograd::Function<EdgeValues> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weights, const EntryEdges& entries) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward({entries.entries_of});
    return edge_values(weights, entries);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::edge_values: there is no second derivative; call backward without create_graph");
    return {edge_values_backward(gradients[0], context->get_saved_variables()[0]), at::Tensor()};
  }
};

at::Tensor edge_values_autograd(const at::Tensor& weights, const at::Tensor& edges,
                                const at::Tensor& entries_of) {
  return EdgeValues::apply(weights, EntryEdges{edges, entries_of});
}

}  // namespace

at::Tensor edge_values_backward(const at::Tensor& gradient, const at::Tensor& entries_of) {
  return call_without_gradient<edge_values_backward_backend>("qw::_edge_values_backward", gradient,
                                                             entries_of);
}

QW_BACKENDS(library) {
  library.impl("edge_values", edge_values_backend);
  library.impl("_edge_values_backward", edge_values_backward_backend);
}

QW_META(library) {
  library.impl("edge_values", edge_values_meta);
  library.impl("_edge_values_backward", edge_values_backward_meta);
}

QW_NO_GRADIENT("_edge_values_backward")

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("edge_values", edge_values_autograd); }

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("edge_values(Tensor weights, Tensor edges, Tensor entries_of) -> Tensor");
  library.def("_edge_values_backward(Tensor gradient, Tensor entries_of) -> Tensor");
}

}  // namespace ops

at::Tensor edge_values(const at::Tensor& weights, const EntryEdges& entries) {
  return ops::call<ops::edge_values_backend>("qw::edge_values", weights, entries.edges, entries.entries_of);
}

}  // namespace qw
