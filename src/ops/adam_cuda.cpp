#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <vector>

#include "kernels/adam.h"
#include "ops/adam_checks.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"

namespace qw::ops {
namespace {

// Written through a pointer, which autograd does not see: without this, a backward pass would use changed
// values in silence.
void mark_changed(const at::Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

void adam_cuda(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
               at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
               double weight_decay, int64_t step) {
  check_adam(parameters, gradients, first_moments, second_moments, lr, beta1, beta2, eps, weight_decay, step);
  std::vector<size_t> present;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i].defined()) present.push_back(i);
  }
  if (present.empty()) return;
  for (const size_t i : present) {
    count(12 * parameters[i].numel(), gradients[i]);
    for (const at::TensorList changed : {parameters, first_moments, second_moments}) {
      mark_changed(changed[i]);
      count(0, changed[i], changed[i]);
    }
  }
  const c10::DeviceGuard device(parameters[present[0]].device());
  const kernels::AdamRule rule{lr, beta1, beta2, eps, weight_decay, step};
  AT_DISPATCH_FLOATING_TYPES(parameters[present[0]].scalar_type(), "qw::adam_", [&] {
    std::vector<kernels::AdamTensor<scalar_t>> tensors;
    tensors.reserve(present.size());
    for (const size_t i : present) {
      tensors.push_back({parameters[i].data_ptr<scalar_t>(), gradients[i].data_ptr<scalar_t>(),
                         first_moments[i].data_ptr<scalar_t>(), second_moments[i].data_ptr<scalar_t>(),
                         parameters[i].numel()});
    }
    kernels::adam_cuda<scalar_t>(rule, network_step_count(step), tensors, current_stream());
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) { library.impl("adam_", adam_cuda); }

}  // namespace qw::ops
