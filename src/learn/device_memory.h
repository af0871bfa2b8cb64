// Who knows how much memory a device has and what it is called: where LibTorch has CUDA,
// device_memory_cuda.cpp registers itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace qw {

struct CudaFacts {
  int64_t (*memory)(const at::Device& device) = nullptr;
  std::string (*name)(const at::Device& device) = nullptr;
};

struct CudaRegistration {
  explicit CudaRegistration(CudaFacts facts);
};

// "NVIDIA H200"; empty of a CPU, and where nobody knows.
std::string device_name(const at::Device& device);

}  // namespace qw
