// Who knows how much memory a device has: where LibTorch has CUDA, device_memory_cuda.cpp registers itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace qw {

using DeviceMemory = int64_t (*)(const at::Device& device);

struct CudaMemoryRegistration {
  explicit CudaMemoryRegistration(DeviceMemory memory);
};

}  // namespace qw
