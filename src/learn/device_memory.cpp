#include "learn/device_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "core/text.h"
#include "learn/device.h"
#include "qw/learn/memory_plan.h"

namespace qw {
namespace {

DeviceMemory& of_cuda() {
  static DeviceMemory memory = nullptr;
  return memory;
}

// What the system says it would give without swapping, and no more than this process may have.
int64_t host_memory() {
  int64_t available = 0;
  std::ifstream information("/proc/meminfo");
  for (std::string name, unit; information >> name;) {
    int64_t kilobytes = 0;
    if (!(information >> kilobytes)) break;
    std::getline(information, unit);
    if (name == "MemAvailable:") available = kilobytes * 1024;
  }
  std::string limit;
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;
  const std::optional<int64_t> bytes = parse_integer(limit);
  return bytes && available > 0 ? std::min(available, *bytes) : available;
}

}  // namespace

CudaMemoryRegistration::CudaMemoryRegistration(DeviceMemory memory) { of_cuda() = memory; }

int64_t device_memory(const at::Device& device) {
  if (device.is_cpu()) return host_memory();
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
