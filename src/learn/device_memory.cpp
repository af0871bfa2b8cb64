#include "learn/device_memory.h"

#include "core/memory.h"
#include "learn/device.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

CudaFacts& of_cuda() {
  static CudaFacts facts;
  return facts;
}

}  // namespace

CudaRegistration::CudaRegistration(CudaFacts facts) { of_cuda() = facts; }

int64_t device_memory(const at::Device& device) {
  if (device.is_cpu()) return available_memory();
  return device.is_cuda() && of_cuda().memory != nullptr ? of_cuda().memory(device) : 0;
}

std::string device_name(const at::Device& device) {
  return device.is_cuda() && of_cuda().name != nullptr ? of_cuda().name(device) : "";
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
