#include <ATen/cuda/CUDAContext.h>

#include "learn/device_memory.h"

namespace qw {
namespace {

int64_t cuda_memory(const at::Device& device) {
  if (at::cuda::device_count() <= (device.has_index() ? device.index() : 0)) return 0;
  return static_cast<int64_t>(at::cuda::getDeviceProperties(device.index())->totalGlobalMem);
}

const CudaMemoryRegistration registration(cuda_memory);

}  // namespace
}  // namespace qw
