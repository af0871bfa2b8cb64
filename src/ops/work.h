// What an operator's backend reports of its work.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/work.h"

namespace qw::ops {

// Adds `flops` and the bytes of the tensors that are read or written, each counted once per mention.
template <class... Tensors>
void record_work(int64_t flops, const Tensors&... moved) {
  const auto bytes = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.numel() * static_cast<int64_t>(tensor.element_size()) : 0;
  };
  count_work({flops, (int64_t{0} + ... + bytes(moved))});
}

}  // namespace qw::ops
