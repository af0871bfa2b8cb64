// Several numbers that a lane reads and writes at once.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/launch.cuh"

namespace qw::kernels {

template <class T, int kVector>
struct alignas(sizeof(T) * kVector) Pack {
  T at[kVector];
};

template <class T, int kVector>
__device__ Pack<T, kVector> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, kVector>*>(from);
}

// Zeros unless `there`: `from` is not read then, and need not be valid. By an instruction with a predicate.
// An `if` becomes a jump, and the compiler moves all that only the load needs behind it, so that several
// loads wait for each other instead of being under way together. For what the kernel does not write.
template <class T, int kVector>
__device__ Pack<T, kVector> load_pack_if(bool there, const T* from) {
  static_assert(sizeof(Pack<T, kVector>) <= 16);
  Pack<T, kVector> pack = {};
#ifdef QW_CUDA_EMULATOR
  if (there) pack = load_pack<T, kVector>(from);
#else
  uint32_t word[4] = {};
  const auto predicate = static_cast<uint32_t>(there);
  if constexpr (sizeof(pack) == 16) {
    asm("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
        : "+r"(word[0]), "+r"(word[1]), "+r"(word[2]), "+r"(word[3])
        : "l"(from), "r"(predicate));
  } else if constexpr (sizeof(pack) == 8) {
    asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.v2.b32 {%0, %1}, [%2]; }"
        : "+r"(word[0]), "+r"(word[1])
        : "l"(from), "r"(predicate));
  } else {
    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.b32 %0, [%1]; }"
        : "+r"(word[0])
        : "l"(from), "r"(predicate));
  }
  std::memcpy(&pack, word, sizeof(pack));
#endif
  return pack;
}

}  // namespace qw::kernels
