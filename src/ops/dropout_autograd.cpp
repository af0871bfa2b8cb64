#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/dropout_parts.h"

namespace qw::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Y = M x X element by element, with a mask M of 0 and 1 / (1 - p) that depends on the key alone:
//   dL/dX = M x dL/dY,
// the operator itself on the gradient, and so differentiable again.
class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, double p,
                            const DropoutKey& key) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["p"] = p;
    context->saved_data["seed"] = key.seed;
    context->saved_data["epoch"] = key.epoch;
    context->saved_data["layer"] = key.layer;
    return dropout_operator(values, p, key);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const DropoutKey key{context->saved_data["seed"].toInt(), context->saved_data["epoch"].toInt(),
                         context->saved_data["layer"].toInt()};
    return {dropout(gradients[0], context->saved_data["p"].toDouble(), key), at::Tensor(), at::Tensor()};
  }
};

at::Tensor dropout_autograd(const at::Tensor& values, double p, int64_t seed, int64_t epoch, int64_t layer) {
  return Dropout::apply(values, p, DropoutKey{seed, epoch, layer});
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("dropout", dropout_autograd); }

}  // namespace qw::ops
