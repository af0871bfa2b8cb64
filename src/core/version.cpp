#include "qw/core/version.h"

#include <fmt/format.h>

#include <utility>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace qw {
namespace {

#if defined(__aarch64__)
constexpr const char* kArchitecture = "aarch64";
std::vector<std::string> cpu_features() {
  const unsigned long bits = getauxval(AT_HWCAP);
  const unsigned long more = getauxval(AT_HWCAP2);
  std::vector<std::string> features;
  const auto add = [&](bool there, const char* name) {
    if (there) features.emplace_back(name);
  };
  add((bits & HWCAP_ASIMD) != 0, "asimd");
  add((bits & HWCAP_ASIMDHP) != 0, "fp16");
  add((bits & HWCAP_SVE) != 0, "sve");
  add((more & HWCAP2_SVE2) != 0, "sve2");
  add((more & HWCAP2_BF16) != 0, "bf16");
  return features;
}
#elif defined(__x86_64__)
constexpr const char* kArchitecture = "x86_64";
std::vector<std::string> cpu_features() {
  std::vector<std::string> features;
  const auto add = [&](bool there, const char* name) {
    if (there) features.emplace_back(name);
  };
  __builtin_cpu_init();
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4.2");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  return features;
}
#else
constexpr const char* kArchitecture = "unknown";
std::vector<std::string> cpu_features() { return {}; }
#endif

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

// QW_VERSION, QW_LIBTORCH_VERSION and QW_HAS_CUDA come from CMake, so that asking costs no start-up of
// LibTorch.
BuildInfo build_info() {
  return {QW_VERSION, QW_LIBTORCH_VERSION, QW_HAS_CUDA != 0, kArchitecture, compiler(), cpu_features()};
}

}  // namespace qw
