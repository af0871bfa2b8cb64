#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/library.h>

#include "kernels/activate.h"
#include "ops/activate_parts.h"
#include "ops/counted.h"
#include "ops/cuda_glue.h"

namespace qw::ops {
namespace {

using at::Tensor;

kernels::DropoutRule dropout_rule(const ActivateRule& rule) {
  return {rule.p, static_cast<uint64_t>(rule.key.seed), static_cast<uint32_t>(rule.key.epoch),
          static_cast<uint32_t>(rule.key.layer)};
}

Tensor forward_cuda(const Tensor& x, const Tensor& bias, int64_t activation, double p, int64_t seed,
                    int64_t epoch, int64_t layer) {
  const ActivateRule rule{activation, p, {seed, epoch, layer}};
  check_activate(x, bias, rule);
  const c10::DeviceGuard device(x.device());
  const Tensor rows = x.contiguous();
  const Tensor shift = bias.contiguous();
  Tensor result = at::empty(rows.sizes(), rows.options());
  count(3 * rows.numel(), rows, shift, result);
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "qw::activate", [&] {
    kernels::activate_cuda<scalar_t>(static_cast<kernels::Activate>(activation), dropout_rule(rule),
                                     draw_count(epoch), rows.data_ptr<scalar_t>(),
                                     data_or_null<scalar_t>(shift), rows.size(0), rows.size(1),
                                     result.data_ptr<scalar_t>(), current_stream());
  });
  return result;
}

std::tuple<Tensor, Tensor> backward_cuda(const Tensor& result, const Tensor& gradient,
                                         bool bias_needs_gradient, int64_t activation, double p, int64_t seed,
                                         int64_t epoch, int64_t layer) {
  const ActivateRule rule{activation, p, {seed, epoch, layer}};
  const c10::DeviceGuard device(result.device());
  const Tensor incoming = gradient.contiguous();
  check_activate(result, at::empty({0}, result.options()), rule);
  TORCH_CHECK(incoming.sizes() == result.sizes() && incoming.scalar_type() == result.scalar_type(),
              "qw::activate_backward: gradient must be ", result.sizes(), " of ", result.scalar_type(),
              ", got ", incoming.sizes(), " of ", incoming.scalar_type());
  const bool only_adds = rule.only_adds();
  Tensor x_gradient = only_adds ? at::empty({0}, result.options()) : at::empty_like(incoming);
  Tensor bias_gradient = at::empty({bias_needs_gradient ? result.size(1) : 0}, result.options());
  count(3 * incoming.numel(), incoming, only_adds ? Tensor() : result, x_gradient, bias_gradient);
  if (only_adds && !bias_needs_gradient) return {x_gradient, bias_gradient};
  const Tensor values = result.contiguous();
  const int64_t sums = kernels::activate_backward_sums(static_cast<kernels::Activate>(activation),
                                                       values.size(0), values.size(1));
  const Tensor scratch = at::empty({bias_needs_gradient ? sums * values.size(1) : 0}, result.options());
  AT_DISPATCH_FLOATING_TYPES(result.scalar_type(), "qw::activate_backward", [&] {
    kernels::activate_backward_cuda<scalar_t>(
        static_cast<kernels::Activate>(activation), dropout_rule(rule), draw_count(epoch),
        values.data_ptr<scalar_t>(), incoming.data_ptr<scalar_t>(), values.size(0), values.size(1),
        data_or_null<scalar_t>(x_gradient), data_or_null<scalar_t>(bias_gradient),
        data_or_null<scalar_t>(scratch), current_stream());
  });
  return {x_gradient, bias_gradient};
}

}  // namespace

TORCH_LIBRARY_IMPL(qw, QW_CUDA_KEY, library) {
  library.impl("activate", forward_cuda);
  library.impl("activate_backward", backward_cuda);
}

}  // namespace qw::ops
