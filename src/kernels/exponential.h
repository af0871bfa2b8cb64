// The exponential function where it is used most: of numbers that are not positive, in loops that should
// become vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

// exp(x) for x <= 0 to a few ulp, in plain arithmetic so that loops over it are vectorised; 0 where the
// result would be subnormal. On a GPU its own function is as fast. x = n ln 2 + r with |r| <= ln 2 / 2;
// adding `kShift` leaves n in the low bits.
QW_BOTH_INLINE float exponential(float x) {
#ifdef __CUDA_ARCH__
  return exp(x);
#endif
  constexpr float kShift = 0x1.8p23f;
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127u) << 23);
  return x < -87.0f ? 0.0f : (p * (r * r) + r + 1.0f) * power;
}

QW_BOTH_INLINE double exponential(double x) {
#ifdef __CUDA_ARCH__
  return exp(x);
#endif
  constexpr double kShift = 0x1.8p52;
  const double shifted = x * 1.44269504088896341 + kShift;
  const double n = shifted - kShift;
  const double r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023u) << 52);
  return x < -708.0 ? 0.0 : (p * (r * r) + r + 1.0) * power;
}

}  // namespace qw::kernels
