#include "learn/device_memory.h"

#include "core/memory.h"
#include "learn/device.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

DeviceMemory& of_cuda() {
  static DeviceMemory memory = nullptr;
  return memory;
}

}  // namespace

CudaMemoryRegistration::CudaMemoryRegistration(DeviceMemory memory) { of_cuda() = memory; }

int64_t device_memory(const at::Device& device) {
  if (device.is_cpu()) return available_memory();
  return device.is_cuda() && of_cuda() != nullptr ? of_cuda()(device) : 0;
}

// A GPU that is elsewhere can be planned for as well.
at::Device device_of(const TrainRequest& request) {
  try {
    const at::Device device(request.device);
    if (device.is_cuda()) return device;
  } catch (const c10::Error&) {
    // device_named says it in one line
  }
  return device_named(request.device);
}

}  // namespace qw
