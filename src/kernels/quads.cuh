// Four numbers at a time, where memory is aligned to 16 bytes and four are left.
#pragma once

#include <cstdint>

#include "kernels/launch.cuh"

namespace qw::kernels {

// Whether pointers may be read and written by quads; null ones do not matter.
template <class... Pointers>
bool aligned_for_quads(const Pointers*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

// `Once` is for what does not come again before the cache has turned over: it makes room first.
#ifdef QW_CUDA_EMULATOR
template <class Vector>
Vector load_once(const Vector* from) {
  return *from;
}
template <class Vector>
void store_once(Vector* to, const Vector& vector) {
  *to = vector;
}
#else
template <class Vector>
__device__ Vector load_once(const Vector* from) {
  return __ldcs(from);
}
template <class Vector>
__device__ void store_once(Vector* to, const Vector& vector) {
  __stcs(to, vector);
}
#endif

__device__ inline void load_quad(const float* from, float (&to)[4]) {
  const float4 all = load_once(reinterpret_cast<const float4*>(from));
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}
__device__ inline void load_quad(const double* from, double (&to)[4]) {
  const double2 low = load_once(reinterpret_cast<const double2*>(from));
  const double2 high = load_once(reinterpret_cast<const double2*>(from) + 1);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = high.x;
  to[3] = high.y;
}
__device__ inline void store_quad(float* to, const float (&from)[4]) {
  store_once(reinterpret_cast<float4*>(to), float4{from[0], from[1], from[2], from[3]});
}
__device__ inline void store_quad(double* to, const double (&from)[4]) {
  store_once(reinterpret_cast<double2*>(to), double2{from[0], from[1]});
  store_once(reinterpret_cast<double2*>(to) + 1, double2{from[2], from[3]});
}

// The same from the cache, for what is read again and again.
__device__ inline void reload_quad(const float* from, float (&to)[4]) {
  const float4 all = __ldg(reinterpret_cast<const float4*>(from));
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}
__device__ inline void reload_quad(const double* from, double (&to)[4]) {
  const double2 low = __ldg(reinterpret_cast<const double2*>(from));
  const double2 high = __ldg(reinterpret_cast<const double2*>(from) + 1);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = high.x;
  to[3] = high.y;
}

// Up to four, one by one: those from `count` on are 0, and are not stored.
template <class T>
__device__ void load_singly(const T* from, int64_t count, T (&to)[4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k) to[k] = k < count ? from[k] : T{0};
}
template <class T>
__device__ void store_singly(T* to, int64_t count, const T (&from)[4]) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) to[k] = from[k];
  }
}

// Four by a quad if they are `whole`, else up to four of those that are left.
template <class T>
__device__ void load_four(bool whole, const T* from, int64_t left, T (&to)[4]) {
  whole ? load_quad(from, to) : load_singly(from, left, to);
}
template <class T>
__device__ void store_four(bool whole, T* to, int64_t left, const T (&from)[4]) {
  whole ? store_quad(to, from) : store_singly(to, left, from);
}

}  // namespace qw::kernels
