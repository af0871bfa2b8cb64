#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/flow_step.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"
#include "ops/flow_step_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

void flow_step_cuda(const Tensor& flow, const Tensor& first_moment, const Tensor& second_moment,
                    const Tensor& residual, const Tensor& extra, const Tensor& heads, const Tensor& tails,
                    const Tensor& costs, int64_t rule, double lr, double weight_decay, int64_t step,
                    bool directed, const Tensor& measures) {
  check_flow_step(flow, first_moment, second_moment, residual, extra, {heads, tails, costs}, rule, lr,
                  weight_decay, step, measures);
  const c10::DeviceGuard device(flow.device());
  const Tensor rows = residual.contiguous();
  count(16 * flow.numel(), flow, flow, first_moment, first_moment, second_moment, second_moment, rows, extra,
        heads, tails, costs);
  for (const Tensor& changed : {flow, first_moment, second_moment}) {
    changed.unsafeGetTensorImpl()->bump_version();  // written through a pointer, which autograd does not see
  }
  const kernels::FlowStepRule how{rule == 1, directed, lr, 0.9, 0.999, 1e-8, weight_decay, step};
  const at::TensorOptions in_double = at::TensorOptions(at::kDouble).device(flow.device());
  const Tensor sums = at::empty({kernels::flow_step_blocks(flow.numel()), 3}, in_double);
  AT_DISPATCH_FLOATING_TYPES(flow.scalar_type(), "qw::flow_step_", [&] {
    kernels::flow_step_cuda<scalar_t>(
        how, flow_step_count(step),
        {flow.data_ptr<scalar_t>(), first_moment.data_ptr<scalar_t>(), second_moment.data_ptr<scalar_t>(),
         rows.data_ptr<scalar_t>(), data_or_null<scalar_t>(extra), heads.data_ptr<int32_t>(),
         tails.data_ptr<int32_t>(), data_or_null<scalar_t>(costs), flow.size(0), flow.size(1)},
        data_or_null<double>(sums), measures.data_ptr<double>(), current_stream());
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) { library.impl("flow_step_", flow_step_cuda); }

}  // namespace qw::ops
