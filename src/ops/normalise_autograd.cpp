#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/normalise_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Values v on a fixed pattern, d_i the sum of row i, a the normalised values, G = dL/da. For an entry at (i,
// j):
//   symmetric  s = d^-1/2, a_ij = v_ij s_i s_j. With ds_i/dd_i = -1/2 s_i / d_i, and d_i in all of row and
//              column i,
//                dL/dd_i  = -1/2 s_i^2 (sum_k G_ik a_ik + sum_k G_ki a_ki)
//                dL/dv_ij = G_ij s_i s_j + dL/dd_i
//   rows       a_ij = v_ij / d_i:                dL/dv_ij = (G_ij - sum_k G_ik a_ik) / d_i
//   softmax    da_ik/dv_ij = a_ik ([j = k] - a_ij):  dL/dv_ij = a_ij (G_ij - sum_k G_ik a_ik)
// The values themselves are in none of these; the result is kept, which the product that follows keeps too.
// The backward pass is not differentiable again.
class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern, const at::Tensor& values,
                            Normalisation kind) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    check_normalise("qw::normalise", pattern, "values", values);
    const auto [result, scales] = normalise_forward(pattern, values, kind);
    context->saved_data["kind"] = static_cast<int64_t>(kind);
    context->save_for_backward({pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                pattern.transposed_columns, pattern.order, result, scales});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::normalise: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    const auto kind = static_cast<Normalisation>(context->saved_data["kind"].toInt());
    const at::Tensor values_gradient = normalise_backward({saved[0], saved[1], saved[2], saved[3], saved[4]},
                                                          saved[5], saved[6], gradients[0], kind);
    return {at::Tensor(), values_gradient, at::Tensor()};
  }
};

at::Tensor normalise_autograd(const at::Tensor& offsets, const at::Tensor& columns,
                              const at::Tensor& transposed_offsets, const at::Tensor& transposed_columns,
                              const at::Tensor& order, const at::Tensor& values, int64_t kind) {
  return Normalise::apply(SparsePattern{offsets, columns, transposed_offsets, transposed_columns, order},
                          values, checked_normalisation("qw::normalise", kind));
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("normalise", normalise_autograd); }

}  // namespace qw::ops
