#include "qw/ops/adam.h"

#include <ATen/Dispatch.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <vector>

#include "kernels/adam.h"
#include "ops/backend.h"
#include "ops/work.h"

namespace qw {
namespace ops {
namespace {

constexpr const char* kOp = "qw::adam_";

void check_not_negative(const char* name, double value) {
  TORCH_CHECK(value >= 0.0 && std::isfinite(value), kOp, ": ", name, " must be finite and not negative, got ",
              value);
}

void check_beta(const char* name, double value) {
  TORCH_CHECK(value >= 0.0 && value < 1.0, kOp, ": ", name, " must be in [0, 1), got ", value);
}

void check_parameter(const at::Tensor& parameter, size_t index) {
  TORCH_CHECK(parameter.scalar_type() == at::kFloat || parameter.scalar_type() == at::kDouble, kOp,
              ": parameter ", index, " must be float32 or float64, got ", parameter.scalar_type());
  TORCH_CHECK(parameter.is_non_overlapping_and_dense(), kOp, ": parameter ", index,
              " must fill its memory without holes");
}

// Strides of dimensions of size 1 say nothing.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

void check_companion(const char* name, const at::Tensor& tensor, const at::Tensor& parameter, size_t index) {
  TORCH_CHECK(tensor.defined(), kOp, ": the ", name, " of parameter ", index, " is undefined");
  TORCH_CHECK(tensor.sizes() == parameter.sizes() && tensor.scalar_type() == parameter.scalar_type() &&
                  tensor.device() == parameter.device(),
              kOp, ": the ", name, " of parameter ", index, " must be ", parameter.sizes(), " of ",
              parameter.scalar_type(), " on ", parameter.device(), ", got ", tensor.sizes(), " of ",
              tensor.scalar_type(), " on ", tensor.device());
  TORCH_CHECK(same_layout(tensor, parameter), kOp, ": the ", name, " of parameter ", index,
              " must have its strides ", parameter.strides(), ", got ", tensor.strides());
}

void check_adam(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
                at::TensorList second_moments, const kernels::AdamRule& rule) {
  const size_t count = parameters.size();
  TORCH_CHECK(gradients.size() == count && first_moments.size() == count && second_moments.size() == count,
              kOp, ": ", count, " parameters need as many gradients, first and second moments, got ",
              gradients.size(), ", ", first_moments.size(), " and ", second_moments.size());
  check_not_negative("lr", rule.lr);
  check_beta("beta1", rule.beta1);
  check_beta("beta2", rule.beta2);
  check_not_negative("eps", rule.eps);
  check_not_negative("weight_decay", rule.weight_decay);
  TORCH_CHECK(rule.step >= 1, kOp, ": step counts from 1, got ", rule.step);
  const at::Tensor* first = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!gradients[i].defined()) continue;
    check_parameter(parameters[i], i);
    if (first == nullptr) first = &parameters[i];
    TORCH_CHECK(parameters[i].scalar_type() == first->scalar_type(), kOp, ": parameter ", i, " is ",
                parameters[i].scalar_type(), ", those before it are ", first->scalar_type(),
                "; give each type a call of its own");
    check_companion("gradient", gradients[i], parameters[i], i);
    check_companion("first moment", first_moments[i], parameters[i], i);
    check_companion("second moment", second_moments[i], parameters[i], i);
  }
}

// The places of parameters that have a gradient; counts the work on them, and tells autograd that they
// change.
std::vector<size_t> changing_parameters(at::TensorList parameters, at::TensorList gradients,
                                        at::TensorList first_moments, at::TensorList second_moments) {
  std::vector<size_t> places;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i].defined()) continue;
    places.push_back(i);
    record_work(12 * parameters[i].numel(), gradients[i]);
    for (const at::TensorList changed : {parameters, first_moments, second_moments}) {
      // Written through a pointer, which autograd does not see: without this, a backward pass would use
      // changed values in silence.
      changed[i].unsafeGetTensorImpl()->bump_version();
      record_work(0, changed[i], changed[i]);
    }
  }
  return places;
}

template <class T>
std::vector<kernels::AdamTensor<T>> adam_tensors(const std::vector<size_t>& places, at::TensorList parameters,
                                                 at::TensorList gradients, at::TensorList first_moments,
                                                 at::TensorList second_moments) {
  std::vector<kernels::AdamTensor<T>> tensors;
  tensors.reserve(places.size());
  for (const size_t i : places) {
    tensors.push_back({parameters[i].data_ptr<T>(), gradients[i].data_ptr<T>(),
                       first_moments[i].data_ptr<T>(), second_moments[i].data_ptr<T>(),
                       parameters[i].numel()});
  }
  return tensors;
}

void adam_backend(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
                  at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
                  double weight_decay, int64_t step) {
  const kernels::AdamRule rule{lr, beta1, beta2, eps, weight_decay, step};
  check_adam(parameters, gradients, first_moments, second_moments, rule);
  const std::vector<size_t> present =
      changing_parameters(parameters, gradients, first_moments, second_moments);
  if (present.empty()) return;
  const at::Tensor& first = parameters[present[0]];
  AT_DISPATCH_FLOATING_TYPES(first.scalar_type(), "qw::adam_", [&] {
    const auto tensors =
        adam_tensors<scalar_t>(present, parameters, gradients, first_moments, second_moments);
    run_on(
        first, [&] { kernels::adam_cpu<scalar_t>(rule, tensors); },
        [&](auto stream) { kernels::adam_cuda<scalar_t>(rule, network_step_number(step), tensors, stream); });
  });
}

void adam_meta(at::TensorList, at::TensorList, at::TensorList, at::TensorList, double, double, double, double,
               double, int64_t) {}

}  // namespace

QW_BACKENDS(library) { library.impl("adam_", adam_backend); }

QW_META(library) { library.impl("adam_", adam_meta); }

QW_NO_GRADIENT("adam_")

TORCH_LIBRARY_FRAGMENT(qw, library) {
  library.def(
      "adam_(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] first_moments, "
      "Tensor(c!)[] second_moments, float lr=0.001, float beta1=0.9, float beta2=0.999, float eps=1e-8, "
      "float weight_decay=0.0, int step=1) -> ()");
}

}  // namespace ops

void adam_(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
           at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
           double weight_decay, int64_t step) {
  if (parameters.empty()) {  // the dispatcher would not know where to go
    return ops::check_adam(parameters, gradients, first_moments, second_moments,
                           {lr, beta1, beta2, eps, weight_decay, step});
  }
  ops::call_without_gradient<ops::adam_backend>("qw::adam_", parameters, gradients, first_moments,
                                                second_moments, lr, beta1, beta2, eps, weight_decay, step);
}

}  // namespace qw
