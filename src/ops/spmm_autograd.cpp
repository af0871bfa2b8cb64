#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/spmm_parts.h"
#include "qw/ops/spmm.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = A X + B with A given by its values a on a fixed pattern:
//   dL/dX = A^T G,    dL/da_k = <G[i, :], X[j, :]> for entry k at (i, j),    dL/dB = G,    G = dL/dY,
// and dL/dX = A^T G + G where B is X.
// The backward pass is not differentiable again.
class Spmm : public torch::autograd::Function<Spmm> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& dense, const at::Tensor& addend) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["values_need_gradient"] = values.requires_grad();
    context->saved_data["dense_needs_gradient"] = dense.requires_grad();
    const bool adds_dense = addend.is_same(dense);
    context->saved_data["adds_dense"] = adds_dense;
    context->saved_data["addend_needs_gradient"] = !adds_dense && addend.requires_grad();
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

at::Tensor spmm_autograd(const at::Tensor& offsets, const at::Tensor& columns,
                         const at::Tensor& transposed_offsets, const at::Tensor& transposed_columns,
                         const at::Tensor& order, const at::Tensor& values, const at::Tensor& dense,
                         const at::Tensor& addend) {
  return Spmm::apply(SparsePattern{offsets, columns, transposed_offsets, transposed_columns, order}, values,
                     dense, addend);
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("spmm", spmm_autograd); }

}  // namespace qw::ops
