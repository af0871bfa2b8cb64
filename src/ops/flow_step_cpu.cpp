#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/flow_step.h"
#include "ops/counted.h"
#include "ops/flow_step_checks.h"

namespace qw::ops {
namespace {

using at::Tensor;

void flow_step_cpu(const Tensor& flow, const Tensor& first_moment, const Tensor& second_moment,
                   const Tensor& residual, const Tensor& extra, const Tensor& heads, const Tensor& tails,
                   const Tensor& costs, int64_t rule, double lr, double weight_decay, int64_t step,
                   bool directed, const Tensor& measures) {
  check_flow_step(flow, first_moment, second_moment, residual, extra, {heads, tails, costs}, rule, lr,
                  weight_decay, step, measures);
  const Tensor rows = residual.contiguous();
  count(16 * flow.numel(), flow, flow, first_moment, first_moment, second_moment, second_moment, rows, extra,
        heads, tails, costs);
  for (const Tensor& changed : {flow, first_moment, second_moment}) {
    changed.unsafeGetTensorImpl()->bump_version();  // written through a pointer, which autograd does not see
  }
  const kernels::FlowStepRule how{rule == 1, directed, lr, 0.9, 0.999, 1e-8, weight_decay, step};
  kernels::FlowStatistics statistics;
  AT_DISPATCH_FLOATING_TYPES(flow.scalar_type(), "qw::flow_step_", [&] {
    const auto or_null = [](const Tensor& tensor) -> const scalar_t* {
      return tensor.numel() == 0 ? nullptr : tensor.data_ptr<scalar_t>();
    };
    statistics = kernels::flow_step_cpu<scalar_t>(
        how,
        {flow.data_ptr<scalar_t>(), first_moment.data_ptr<scalar_t>(), second_moment.data_ptr<scalar_t>(),
         rows.data_ptr<scalar_t>(), or_null(extra), heads.data_ptr<int32_t>(), tails.data_ptr<int32_t>(),
         or_null(costs), flow.size(0), flow.size(1)});
  });
  auto* numbers = measures.data_ptr<double>();
  numbers[0] = statistics.cost;
  numbers[1] = statistics.nonzeros;
  numbers[2] = statistics.violation;
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, CPU, library) { library.impl("flow_step_", flow_step_cpu); }

}  // namespace qw::ops
