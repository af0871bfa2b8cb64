// Tensors of feature normalisation as its kernels take them.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/feature_norm.h"

namespace qw::ops {

// Written through a pointer, which autograd does not see: without this, a backward pass would use changed
// values in silence.
inline void mark_changed(const at::Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

// All contiguous; `statistics` [2, normed].
template <class T>
kernels::Normed<T> normed_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& statistics) {
  const double* mean = statistics.data_ptr<double>();
  return {x.data_ptr<T>(), x.size(0), x.size(1), weight.data_ptr<T>(), mean, mean + statistics.size(1)};
}

}  // namespace qw::ops
