// The device under test: QW_TEST_DEVICE, or the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdlib>

namespace qw::test {

inline at::Device device() {
  const char* name = std::getenv("QW_TEST_DEVICE");
  return at::Device(name == nullptr ? "cpu" : name);
}

inline at::TensorOptions options(at::ScalarType type) { return at::TensorOptions(type).device(device()); }

}  // namespace qw::test
