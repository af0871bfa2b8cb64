#include "qw/ops/spmm.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/spmm.h"
#include "ops/backend.h"
#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/part_products.h"
#include "ops/spmm_parts.h"
#include "ops/work.h"

namespace qw {
namespace ops {

void check_spmm(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense) {
  constexpr const char* kOp = "qw::spmm";
  const at::Tensor &offsets = pattern.offsets, &columns = pattern.columns, &order = pattern.order;
  const at::Tensor& transposed_offsets = pattern.transposed_offsets;
  const at::Tensor& transposed_columns = pattern.transposed_columns;
  check_csr(kOp, offsets, columns, dense);
  check_index(kOp, "transposed_offsets", transposed_offsets, at::kLong, dense);
  check_index(kOp, "transposed_columns", transposed_columns, at::kInt, dense);
  check_index(kOp, "order", order, at::kLong, dense);
  const int64_t entries = columns.size(0);
  TORCH_CHECK(transposed_columns.size(0) == entries, kOp, ": the matrix has ", entries,
              " entries, its transpose ", transposed_columns.size(0));
  TORCH_CHECK(order.size(0) == entries || order.size(0) == 0, kOp, ": order must have an entry for each of ",
              entries, " entries, or none, got ", order.size(0));
  TORCH_CHECK(transposed_offsets.size(0) >= 1, kOp,
              ": transposed_offsets must have one entry more than there are columns, got none");
  check_matrix(kOp, "dense", dense, transposed_offsets.size(0) - 1, "column of the sparse matrix");
  TORCH_CHECK(values.dim() == 1 && values.size(0) == entries && values.scalar_type() == dense.scalar_type() &&
                  values.device() == dense.device(),
              kOp, ": values must be [", entries, "] of ", dense.scalar_type(), " on ", dense.device(),
              ", got ", values.sizes(), " of ", values.scalar_type(), " on ", values.device());
  check_pattern_entries(kOp, pattern);
}

namespace {

void check_addend(const char* op, const at::Tensor& offsets, const at::Tensor& dense,
                  const at::Tensor& addend) {
  const std::vector<int64_t> shape{offsets.size(0) - 1, dense.size(1)};
  const bool is_none = addend.dim() == 1 && addend.size(0) == 0;
  TORCH_CHECK(is_none || (addend.sizes() == at::IntArrayRef(shape) &&
                          addend.scalar_type() == dense.scalar_type() && addend.device() == dense.device()),
              op, ": addend must be ", at::IntArrayRef(shape), " or [0] of ", dense.scalar_type(), " on ",
              dense.device(), ", got ", addend.sizes(), " of ", addend.scalar_type(), " on ",
              addend.device());
}

void check_csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  constexpr const char* kOp = "qw::_csr_matmul";
  check_csr(kOp, offsets, columns, dense);
  check_index(kOp, "order", order, at::kLong, dense);
  check_matrix(kOp, "dense", dense, dense.size(0), "column of the sparse matrix");
  TORCH_CHECK(
      values.dim() == 1 && values.size(0) == columns.size(0) && values.scalar_type() == dense.scalar_type(),
      kOp, ": values must be [", columns.size(0), "] of ", dense.scalar_type(), ", got ", values.sizes(),
      " of ", values.scalar_type());
  TORCH_CHECK(values.device() == dense.device(), kOp, ": values are on ", values.device(), ", dense is on ",
              dense.device());
  TORCH_CHECK(order.size(0) == columns.size(0) || order.size(0) == 0, kOp,
              ": order must have an entry for each of ", columns.size(0), " entries, or none, got ",
              order.size(0));
  check_addend(kOp, offsets, dense, addend);
  check_csr_entries(kOp, offsets, columns, dense.size(0));
  check_entries(kOp, "order", order, 0, columns.size(0));
}

void check_sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right) {
  constexpr const char* kOp = "qw::_sampled_products";
  check_csr(kOp, offsets, columns, left);
  check_matrix(kOp, "left", left, offsets.size(0) - 1, "row of the sparse matrix");
  TORCH_CHECK(right.dim() == 2 && right.size(1) == left.size(1) &&
                  right.scalar_type() == left.scalar_type() && right.device() == left.device(),
              kOp, ": right must be [K, ", left.size(1), "] of ", left.scalar_type(), " on ", left.device(),
              ", got ", right.sizes(), " of ", right.scalar_type(), " on ", right.device());
  check_csr_entries(kOp, offsets, columns, right.size(0));
}

at::Tensor csr_matmul_backend(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                              const at::Tensor& values, const at::Tensor& dense,
                              const OptionalTensor& optional_addend) {
  const at::Tensor addend = or_empty(optional_addend, dense.options());
  check_csr_matmul(offsets, columns, order, values, dense, addend);
  const at::Tensor rows = dense.contiguous();
  const at::Tensor entries = values.contiguous();
  const at::Tensor added = addend.contiguous();
  const int64_t width = rows.size(1);
  at::Tensor result = at::empty({offsets.size(0) - 1, width}, rows.options());
  record_work(2 * columns.numel() * width, offsets, columns, order, entries, rows, added, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::_csr_matmul", [&] {
    const kernels::CsrView<scalar_t> matrix{offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(),
                                            entries.data_ptr<scalar_t>(), data_or_null<int64_t>(order),
                                            offsets.size(0) - 1};
    run_on(
        rows,
        [&] {
          kernels::Update<scalar_t> update;
          update.first = data_or_null<scalar_t>(added);
          update.first_scale = update.first == nullptr ? 0 : 1;
          kernels::spmm_cpu(matrix, {rows.data_ptr<scalar_t>(), rows.size(0), width},
                            result.data_ptr<scalar_t>(), update);
        },
        [&](auto stream) {
          kernels::DeviceUpdate<scalar_t> update;
          update.first = data_or_null<scalar_t>(added);
          kernels::spmm_cuda(matrix, columns.numel(), rows.data_ptr<scalar_t>(), width,
                             result.data_ptr<scalar_t>(), update, stream);
        });
  });
  return result;
}

at::Tensor sampled_products_backend(const at::Tensor& offsets, const at::Tensor& columns,
                                    const at::Tensor& left, const at::Tensor& right) {
  check_sampled_products(offsets, columns, left, right);
  const at::Tensor rows = left.contiguous();
  const at::Tensor others = right.contiguous();
  at::Tensor result = at::empty({columns.size(0)}, rows.options());
  record_work(2 * columns.numel() * rows.size(1), offsets, columns, rows, others, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::_sampled_products", [&] {
    const kernels::CsrView<scalar_t> pattern{offsets.data_ptr<int64_t>(), columns.data_ptr<int32_t>(),
                                             nullptr, nullptr, offsets.size(0) - 1};
    const scalar_t* from = rows.data_ptr<scalar_t>();
    const scalar_t* to = others.data_ptr<scalar_t>();
    run_on(
        rows,
        [&] { kernels::sampled_products_cpu(pattern, from, to, rows.size(1), result.data_ptr<scalar_t>()); },
        [&](auto stream) {
          const kernels::SampledTerms<scalar_t> product{from, to, rows.numel(), others.numel()};
          kernels::sampled_products_cuda(pattern, columns.numel(), product, rows.size(1),
                                         result.data_ptr<scalar_t>(), stream);
        });
  });
  return result;
}

at::Tensor csr_matmul_meta(const at::Tensor& offsets, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                           const at::Tensor& dense, const OptionalTensor&) {
  return at::empty_symint({offsets.sym_size(0) - 1, dense.sym_size(1)}, dense.options());
}

at::Tensor sampled_products_meta(const at::Tensor&, const at::Tensor& columns, const at::Tensor& left,
                                 const at::Tensor&) {
  return at::empty_symint(columns.sym_sizes(), left.options());
}

void check_spmm_and_addend(at::TensorList tensors, const at::Tensor& values, const at::Tensor& dense,
                           const OptionalTensor& addend) {
  const SparsePattern pattern = pattern_of(tensors);
  check_spmm(pattern, values, dense);
  check_addend("qw::spmm", pattern.offsets, dense, or_empty(addend, dense.options()));
}

at::Tensor spmm_backend(at::TensorList pattern_tensors, const at::Tensor& values, const at::Tensor& dense,
                        const OptionalTensor& addend) {
  check_spmm_and_addend(pattern_tensors, values, dense, addend);
  const SparsePattern pattern = pattern_of(pattern_tensors);
  return csr_matmul_backend(pattern.offsets, pattern.columns, at::empty({0}, pattern.offsets.options()),
                            values, dense, addend);
}

at::Tensor spmm_meta(at::TensorList pattern, const at::Tensor& values, const at::Tensor& dense,
                     const OptionalTensor& addend) {
  if (have_numbers(pattern, values, dense, addend)) check_spmm_and_addend(pattern, values, dense, addend);
  return csr_matmul_meta(pattern_of(pattern).offsets, {}, {}, values, dense, addend);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = A X + B with A given by its values a on a fixed pattern:
//   dL/dX = A^T G,    dL/da_k = <G[i, :], X[j, :]> for entry k at (i, j),    dL/dB = G,    G = dL/dY,
// and dL/dX = A^T G + G where B is X.
// The backward pass is not differentiable again.
class Spmm : public torch::autograd::Function<Spmm> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& dense, const OptionalTensor& optional_addend) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor addend = optional_addend.value_or(at::Tensor());
    context->saved_data["values_need_gradient"] = values.requires_grad();
    context->saved_data["dense_needs_gradient"] = dense.requires_grad();
    const bool adds_dense = addend.is_same(dense);
    context->saved_data["adds_dense"] = adds_dense;
    context->saved_data["addend_needs_gradient"] = !adds_dense && addend.defined() && addend.requires_grad();
    // X is kept only for the gradient of the values, which most models never ask for.
    context->save_for_backward({pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                pattern.transposed_columns, pattern.order, values,
                                values.requires_grad() ? dense : at::Tensor()});
    return spmm(pattern, values, dense, addend);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::spmm: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    at::Tensor values_gradient, dense_gradient;
    if (context->saved_data["values_need_gradient"].toBool()) {
      values_gradient = sampled_products(saved[0], saved[1], gradients[0], saved[6]);
    }
    if (context->saved_data["dense_needs_gradient"].toBool()) {
      dense_gradient = csr_matmul(saved[2], saved[3], saved[4], saved[5], gradients[0],
                                  context->saved_data["adds_dense"].toBool() ? gradients[0] : at::Tensor());
    }
    return {at::Tensor(), values_gradient, dense_gradient,
            context->saved_data["addend_needs_gradient"].toBool() ? gradients[0] : at::Tensor()};
  }
};

at::Tensor spmm_autograd(at::TensorList pattern, const at::Tensor& values, const at::Tensor& dense,
                         const OptionalTensor& addend) {
  return Spmm::apply(pattern_of(pattern), values, dense, addend);
}

}  // namespace

at::Tensor csr_matmul(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& order,
                      const at::Tensor& values, const at::Tensor& dense, const at::Tensor& addend) {
  return call_without_gradient<csr_matmul_backend>("qw::_csr_matmul", offsets, columns, order, values, dense,
                                                   or_none(addend));
}

at::Tensor sampled_products(const at::Tensor& offsets, const at::Tensor& columns, const at::Tensor& left,
                            const at::Tensor& right) {
  return call_without_gradient<sampled_products_backend>("qw::_sampled_products", offsets, columns, left,
                                                         right);
}

QW_BACKENDS(library) {
  library.impl("spmm", spmm_backend);
  library.impl("_csr_matmul", csr_matmul_backend);
  library.impl("_sampled_products", sampled_products_backend);
}

QW_META(library) {
  library.impl("spmm", spmm_meta);
  library.impl("_csr_matmul", csr_matmul_meta);
  library.impl("_sampled_products", sampled_products_meta);
}

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("spmm", spmm_autograd); }

QW_NO_GRADIENT("_csr_matmul", "_sampled_products")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def("spmm(Tensor[] pattern, Tensor values, Tensor dense, Tensor? addend=None) -> Tensor");
  library.def(
      "_csr_matmul(Tensor offsets, Tensor columns, Tensor order, Tensor values, Tensor dense, "
      "Tensor? addend=None) -> Tensor");
  library.def("_sampled_products(Tensor offsets, Tensor columns, Tensor left, Tensor right) -> Tensor");
}

}  // namespace ops

SparsePattern SparsePattern::symmetric(const at::Tensor& offsets, const at::Tensor& columns) {
  at::Tensor no_order = at::empty({0}, offsets.options());
  return {offsets, columns, offsets, columns, std::move(no_order)};
}

at::Tensor spmm(const SparsePattern& pattern, const at::Tensor& values, const at::Tensor& dense,
                const at::Tensor& addend) {
  if (pattern.others != nullptr) return ops::part_product(pattern, values, dense, addend);
  return ops::call<ops::spmm_backend>("qw::spmm", ops::tensors_of(pattern), values, dense,
                                      ops::or_none(addend));
}

}  // namespace qw
