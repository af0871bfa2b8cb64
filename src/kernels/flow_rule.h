// The step of one entry of the flow: what the kernels of CPU and GPU do to each.
#pragma once

#include <cmath>

#include "kernels/adam_factors.h"
#include "kernels/select.h"

namespace qw::kernels {

// `smooth` is the gradient without that of the cost. Returns how far 0 is from gradient + cost * d|flow|
// before the step; on a directed graph flow at 0 cannot go below, so that a positive slope there is none.
template <bool kProximal, bool kDirected, class T>
QW_BOTH_INLINE T flow_element(const AdamFactors<T>& f, T smooth, T cost, T& flow, T& first, T& second) {
  const T old = flow;
  const T whole = smooth + zero_where(old == 0, std::copysign(cost, old));
  const T slope = kDirected && old == 0 ? -smooth : std::abs(whole);
  const T g = (kProximal ? smooth : whole) + f.weight_decay * old;
  const T m = f.beta1 * first + f.fresh1 * g;
  const T v = f.beta2 * second + f.fresh2 * g * g;
  const T rate = f.step_size / (std::sqrt(v) * f.root_scale + f.eps);
  first = m;
  second = v;
  T now = old - rate * m;
  if constexpr (kProximal) {
    // The cost is no running mean: the correction in `rate` is taken back.
    const T left = std::abs(now) - rate * (f.correction1 * cost);
    now = zero_where(left <= 0, std::copysign(left, now));
  }
  if constexpr (kDirected) now = zero_where(now <= 0, now);
  flow = now;
  return slope - zero_where(old != 0, cost);
}

}  // namespace qw::kernels
