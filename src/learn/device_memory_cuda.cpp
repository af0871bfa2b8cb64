#include <ATen/cuda/CUDAContext.h>

#include "learn/device_memory.h"

namespace qw {
namespace {

bool is_there(const at::Device& device) {
  return at::cuda::device_count() > (device.has_index() ? device.index() : 0);
}

int64_t cuda_memory(const at::Device& device) {
  if (!is_there(device)) return 0;
  return static_cast<int64_t>(at::cuda::getDeviceProperties(device.index())->totalGlobalMem);
}

std::string cuda_name(const at::Device& device) {
  return is_there(device) ? at::cuda::getDeviceProperties(device.index())->name : "";
}

const CudaRegistration registration({cuda_memory, cuda_name});

}  // namespace
}  // namespace qw
