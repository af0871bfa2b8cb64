#include "learn/device.h"

#include <fmt/format.h>

#include <charconv>

#include "qw/core/error.h"
#include "qw/core/version.h"
#include "qw/ops/capture.h"

namespace qw {

at::Device device_named(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  constexpr std::string_view kCuda = "cuda", kNumbered = "cuda:";
  int index = 0;
  const char* const end = name.data() + name.size();
  const bool numbered = name.starts_with(kNumbered) && name.size() > kNumbered.size() &&
                        std::from_chars(name.data() + kNumbered.size(), end, index).ptr == end && index >= 0;
  if (name != kCuda && !numbered) {
    fail_usage(fmt::format("--device '{}' is unknown; known: cpu, cuda, cuda:0, ...", name));
  }
  if (!build_info().cuda) {
    fail(
        fmt::format("--device {}: this qw was built without CUDA; build it with the preset cuda where "
                    "LibTorch has it, or use --device cpu",
                    name));
  }
  const int devices = cuda_devices();
  if (index >= devices) {
    fail(fmt::format("--device {}: this machine has {} CUDA devices", name, devices));
  }
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace qw
