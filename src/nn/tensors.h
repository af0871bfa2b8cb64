// Host arrays as tensors.
#pragma once

#include <ATen/Functions.h>

#include <algorithm>
#include <span>

namespace qw {

// A copy of `values` as a tensor of their own type (int32, int64, float or double), moved to `device`.
template <class Range>
at::Tensor tensor_of(const Range& values, at::Device device = at::kCPU) {
  using Value = std::remove_cvref_t<decltype(*std::begin(values))>;
  at::Tensor tensor =
      at::empty({static_cast<int64_t>(std::size(values))}, c10::CppTypeToScalarType<Value>::value);
  std::copy(std::begin(values), std::end(values), static_cast<Value*>(tensor.data_ptr()));
  return tensor.to(device);
}

}  // namespace qw
