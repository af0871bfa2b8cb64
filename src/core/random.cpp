#include "qw/core/random.h"

#include <bit>
#include <cmath>

namespace qw {
namespace {

// Natural logarithm of a normal positive double from +, -, *, / alone: the C library's may differ between
// platforms. log x = e log 2 + 2 atanh((m-1)/(m+1)) with x = m 2^e and m in [sqrt(1/2), sqrt(2)).
double portable_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    exponent += 1;
  }
  const double ratio = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = ratio * ratio;
  double series = 0.0;
  for (int k = 23; k >= 1; k -= 2) series = series * square + 1.0 / k;
  return exponent * 0.6931471805599453 + 2.0 * ratio * series;
}

// Acklam's rational approximation in the tail, for r = sqrt(-2 log p).
double lower_tail(double r) {
  const double numerator =
      ((((-7.784894002430293e-03 * r - 3.223964580411365e-01) * r - 2.400758277161838e+00) * r -
        2.549732539343734e+00) *
           r +
       4.374664141464968e+00) *
          r +
      2.938163982698783e+00;
  const double denominator =
      (((7.784695709041462e-03 * r + 3.224671290700398e-01) * r + 2.445134137142996e+00) * r +
       3.754408661907416e+00) *
          r +
      1.0;
  return numerator / denominator;
}

}  // namespace

double normal_quantile(double p) {
  constexpr double kTail = 0.02425;
  if (p < kTail) return lower_tail(std::sqrt(-2.0 * portable_log(p)));
  if (p > 1.0 - kTail) return -lower_tail(std::sqrt(-2.0 * portable_log(1.0 - p)));
  const double q = p - 0.5;
  const double r = q * q;
  const double numerator =
      (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
         1.383577518672690e+02) *
            r -
        3.066479806614716e+01) *
           r +
       2.506628277459239e+00) *
      q;
  const double denominator =
      ((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
        6.680131188771972e+01) *
           r -
       1.328068155288572e+01) *
          r +
      1.0;
  return numerator / denominator;
}

double RandomStream::normal(uint64_t counter) const {
  return normal_quantile((static_cast<double>(bits(counter) >> 12) + 0.5) * 0x1p-52);
}

}  // namespace qw
