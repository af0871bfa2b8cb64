// Several numbers that a lane reads and writes at once.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

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

// body(i), i as a constant, for each i of [0, kCount).
template <int kCount, class Body>
__device__ void for_constants(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, kCount>());
}

// base + row * row_bytes / sizeof(T): where a row of a table begins, by one instruction if rows are int32_t.
template <class T, class Row>
__device__ const T* row_from(const T* base, Row row, int32_t row_bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(base) +
                                    static_cast<int64_t>(row) * row_bytes);
}
template <class T, class Row>
__device__ T* row_from(T* base, Row row, int32_t row_bytes) {
  return const_cast<T*>(row_from(const_cast<const T*>(base), row, row_bytes));
}

// from[kOffset, kOffset + kVector), or zeros unless `there`: it is not read then, and need not be valid. By
// an instruction with a predicate. An `if` becomes a jump, and the compiler moves all that only the load
// needs behind it, so that several loads wait for each other instead of being under way together. For what
// the kernel does not write.
template <class T, int kVector, int kOffset = 0>
__device__ Pack<T, kVector> load_pack_if(bool there, const T* from) {
  static_assert(sizeof(Pack<T, kVector>) <= 16);
  Pack<T, kVector> pack = {};
#ifdef QW_CUDA_EMULATOR
  if (there) pack = load_pack<T, kVector>(from + kOffset);
#else
  constexpr int kBytes = kOffset * static_cast<int>(sizeof(T));
  uint32_t word[4] = {};
  const auto predicate = static_cast<uint32_t>(there);
  if constexpr (sizeof(pack) == 16) {
    asm("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4 + %6]; }"
        : "+r"(word[0]), "+r"(word[1]), "+r"(word[2]), "+r"(word[3])
        : "l"(from), "r"(predicate), "n"(kBytes));
  } else if constexpr (sizeof(pack) == 8) {
    asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.v2.b32 {%0, %1}, [%2 + %4]; }"
        : "+r"(word[0]), "+r"(word[1])
        : "l"(from), "r"(predicate), "n"(kBytes));
  } else {
    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.b32 %0, [%1 + %3]; }"
        : "+r"(word[0])
        : "l"(from), "r"(predicate), "n"(kBytes));
  }
  std::memcpy(&pack, word, sizeof(pack));
#endif
  return pack;
}

}  // namespace qw::kernels
