#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "qw/ops/incidence.h"

namespace qw::ops {
namespace {

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

TORCH_LIBRARY_IMPL(qw, Autograd, library) {
  library.impl("incidence", incidence_autograd);
  library.impl("incidence_transpose", incidence_transpose_autograd);
}

}  // namespace qw::ops
