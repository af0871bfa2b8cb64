// The activation of one element and its gradient: what the kernels of CPU and GPU do to each.
#pragma once

#include "kernels/activate.h"
#include "kernels/exponential.h"
#include "kernels/select.h"

namespace qw::kernels {

template <Activate kActivation, class T>
QW_BOTH_INLINE T activated(T z) {
  if constexpr (kActivation == Activate::kRelu) return zero_where(z < 0, z);
  if constexpr (kActivation == Activate::kElu) {
    const T low = exponential(z < 0 ? z : T{0}) - T{1};
    return z <= 0 ? low : z;  // 0, also for -0
  }
  return z;
}

// The gradient of z from that of a = activated(z), and a. Where relu cut, it is 0 whatever came in.
template <Activate kActivation, class T>
QW_BOTH_INLINE T pulled_back(T gradient, T a) {
  if constexpr (kActivation == Activate::kRelu) return zero_where(a <= 0, gradient);
  if constexpr (kActivation == Activate::kElu) return gradient * (a > 0 ? T{1} : a + T{1});
  return gradient;
}

// What ELU keeps is never -0: so that marks what was dropped.
template <class T>
constexpr T kDropped = -T{0};

template <class T>
QW_BOTH_INLINE bool is_dropped(T value) {
  return std::bit_cast<WordOf<T>>(value) == std::bit_cast<WordOf<T>>(kDropped<T>);
}

}  // namespace qw::kernels
