// Enough of CUDA to run the project's kernels on a CPU, so that their logic is tested where there is no GPU:
// the threads of a block are fibers that are switched at barriers; blocks run one after the other. A barrier
// that not all threads reach, and a shuffle with lanes that have left, abort with a message.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define QW_CUDA_EMULATOR 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

void run(int64_t blocks, int threads, const std::function<void()>& body);
void block_barrier();
void warp_barrier();
// Puts 8 bytes where the other lanes of the warp see them, and returns those of `lane` once all did.
uint64_t exchange(uint64_t bits, int lane);
uint32_t ballot(bool vote);

template <class T>
T exchanged(T value, int lane) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace emulator

inline void __syncthreads() { emulator::block_barrier(); }
inline void __syncwarp(unsigned = 0xffffffffu) { emulator::warp_barrier(); }
inline int lane_of_thread() { return static_cast<int>(threadIdx.x % 32); }

template <class T>
T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  const int self = lane_of_thread();
  return emulator::exchanged(value, self / width * width + lane % width);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask, int width = 32) {
  const int self = lane_of_thread(), other = self ^ mask;
  return emulator::exchanged(value, other / width == self / width ? other : self);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int delta, int width = 32) {
  const int self = lane_of_thread(), other = self + delta;
  return emulator::exchanged(value, other / width == self / width ? other : self);
}
inline unsigned __ballot_sync(unsigned, int vote) { return emulator::ballot(vote != 0); }
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }

template <class T>
T __ldg(const T* place) {
  return *place;
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
// The place of the lowest bit that is set, counted from 1; 0: none is.
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
// Never part of a fused multiply-add, as on the device.
inline double __dadd_rn(double a, double b) {
  const volatile double sum = a + b;
  return sum;
}
inline double __dmul_rn(double a, double b) {
  const volatile double product = a * b;
  return product;
}
