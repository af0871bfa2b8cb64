// Pieces of rows as lanes read and write them, and what is done to a sum before it is stored.
#pragma once

#include <algorithm>

#include "kernels/pack.cuh"
#include "kernels/spmm.h"

namespace qw::kernels {

template <class T>
constexpr int kWideVector = 16 / static_cast<int>(sizeof(T));

inline bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

constexpr int power_of_two_from(int64_t least) {
  int power = 1;
  while (power < least) power *= 2;
  return power;
}

template <class T, int kVector>
__device__ void store_pack(T* to, const T* numbers) {
  Pack<T, kVector> pack;
#pragma unroll
  for (int v = 0; v < kVector; ++v) pack.at[v] = numbers[v];
  *reinterpret_cast<Pack<T, kVector>*>(to) = pack;
}

// The factors of an update, read once.
template <class T>
struct UpdateScales {
  T scale, first, second;

  __device__ explicit UpdateScales(const DeviceUpdate<T>& update)
      : scale(update.scale.now()), first(update.first_scale.now()), second(update.second_scale.now()) {}
};

// Stores the sums [at, at + kVector) of a product as the update says.
template <class T, int kVector>
__device__ void store_updated(const DeviceUpdate<T>& update, const UpdateScales<T>& scales, T* result,
                              int64_t at, T* numbers) {
  const auto add = [&](const T* addend, T scale, T* to) {
    const Pack<T, kVector> pack = load_pack<T, kVector>(addend + at);
#pragma unroll
    for (int v = 0; v < kVector; ++v) to[v] += scale * pack.at[v];
  };
#pragma unroll
  for (int v = 0; v < kVector; ++v) numbers[v] *= scales.scale;
  if (update.first != nullptr) add(update.first, scales.first, numbers);
  if (update.second != nullptr) add(update.second, scales.second, numbers);
  store_pack<T, kVector>(result + at, numbers);
  if (update.total == nullptr) return;
  T total[kVector] = {};
  if (update.start == nullptr) {
    add(update.total, T(1), total);
  } else {
    add(update.start, T(1), total);
    store_pack<T, kVector>(update.copy + at, total);
#pragma unroll
    for (int v = 0; v < kVector; ++v) total[v] *= update.coefficients[0];
  }
#pragma unroll
  for (int v = 0; v < kVector; ++v) total[v] += update.coefficients[1] * numbers[v];
  store_pack<T, kVector>(update.total + at, total);
}

}  // namespace qw::kernels
