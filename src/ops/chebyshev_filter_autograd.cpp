#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/chebyshev_filter_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y = sum_k c_k t_k with t_0 = x, t_1 = M t_0, t_k = 2 M t_{k-1} - t_{k-2}. With g = dL/dy the adjoints a_k =
// dL/dt_k run backwards, a_{K+1} = a_{K+2} = 0:
//   a_k = c_k g + 2 M^T a_{k+1} - a_{k+2}  for k >= 1,      a_0 = c_0 g + M^T a_1 - a_2,
//   dL/dx = a_0,      dL/dc_k = <g, t_k>,      dL/dM_ij = <a_1[i], t_0[j]> + 2 sum_{k>=2} <a_k[i],
//   t_{k-1}[j]>.
// The backward pass is not differentiable again.
class ChebyshevFilter : public torch::autograd::Function<ChebyshevFilter> {
 public:
  static at::Tensor forward(AutogradContext* context, const SparsePattern& pattern, const at::Tensor& values,
                            const at::Tensor& coefficients, const at::Tensor& x) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [terms, result] = chebyshev_forward(pattern, values, coefficients, x);
    const bool needed = values.requires_grad() || coefficients.requires_grad() || x.requires_grad();
    context->saved_data["values_need_gradient"] = values.requires_grad();
    context->save_for_backward({pattern.offsets, pattern.columns, pattern.transposed_offsets,
                                pattern.transposed_columns, pattern.order, values, coefficients,
                                needed ? terms : at::Tensor()});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "qw::chebyshev_filter: there is no second derivative; call backward without create_graph");
    const variable_list saved = context->get_saved_variables();
    const bool values_need_gradient = context->saved_data["values_need_gradient"].toBool();
    const auto [for_values, for_coefficients, for_x] =
        chebyshev_backward({saved[0], saved[1], saved[2], saved[3], saved[4]}, saved[5], saved[6], saved[7],
                           gradients[0], values_need_gradient);
    return {at::Tensor(), values_need_gradient ? for_values : at::Tensor(), for_coefficients, for_x};
  }
};

at::Tensor filter_autograd(const at::Tensor& offsets, const at::Tensor& columns,
                           const at::Tensor& transposed_offsets, const at::Tensor& transposed_columns,
                           const at::Tensor& order, const at::Tensor& values, const at::Tensor& coefficients,
                           const at::Tensor& x) {
  return ChebyshevFilter::apply(
      SparsePattern{offsets, columns, transposed_offsets, transposed_columns, order}, values, coefficients,
      x);
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("chebyshev_filter", filter_autograd); }

}  // namespace qw::ops
