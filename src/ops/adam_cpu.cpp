#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "ops/adam_checks.h"

namespace qw::ops {
namespace {

void adam_cpu(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
              at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
              double weight_decay, int64_t step) {
  check_adam(parameters, gradients, first_moments, second_moments, lr, beta1, beta2, eps, weight_decay, step);
  const std::vector<size_t> present =
      changing_parameters(parameters, gradients, first_moments, second_moments);
  if (present.empty()) return;
  const kernels::AdamRule rule{lr, beta1, beta2, eps, weight_decay, step};
  AT_DISPATCH_FLOATING_TYPES(parameters[present[0]].scalar_type(), "qw::adam_", [&] {
    const auto tensors =
        adam_tensors<scalar_t>(present, parameters, gradients, first_moments, second_moments);
    kernels::adam_cpu<scalar_t>(rule, tensors);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) { library.impl("adam_", adam_cpu); }

}  // namespace qw::ops
