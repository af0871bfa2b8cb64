// What Adam requires, and what its backends share.
#pragma once

#include <vector>

#include "kernels/adam.h"
#include "qw/ops/adam.h"

namespace qw {
namespace ops {

// What every backend of the operator calls first; throws as above.
void check_adam(at::TensorList parameters, at::TensorList gradients, at::TensorList first_moments,
                at::TensorList second_moments, double lr, double beta1, double beta2, double eps,
                double weight_decay, int64_t step);

// The places of parameters that have a gradient; counts the work on them, and tells autograd that they
// change.
std::vector<size_t> changing_parameters(at::TensorList parameters, at::TensorList gradients,
                                        at::TensorList first_moments, at::TensorList second_moments);

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

}  // namespace ops
}  // namespace qw
