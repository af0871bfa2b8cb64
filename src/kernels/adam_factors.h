// Adam's rule as each element sees it.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

// In the type of the elements; made from any rule with lr, beta1, beta2, eps, weight_decay and step.
template <class T>
struct AdamFactors {
  T beta1, fresh1, beta2, fresh2, weight_decay, eps, step_size, root_scale;
  T correction1;  // 1 - beta1^step, by which step_size is divided

  template <class Rule>
  explicit AdamFactors(const Rule& rule)
      : AdamFactors(rule, 1.0 - std::pow(rule.beta1, static_cast<double>(rule.step)),
                    1.0 - std::pow(rule.beta2, static_cast<double>(rule.step))) {}

  // With 1 - beta^step for both, when the step is not the rule's.
  template <class Rule>
  QW_BOTH AdamFactors(const Rule& rule, double first_correction, double second_correction)
      : beta1(static_cast<T>(rule.beta1)),
        fresh1(static_cast<T>(1.0 - rule.beta1)),
        beta2(static_cast<T>(rule.beta2)),
        fresh2(static_cast<T>(1.0 - rule.beta2)),
        weight_decay(static_cast<T>(rule.weight_decay)),
        eps(static_cast<T>(rule.eps)),
        step_size(static_cast<T>(rule.lr / first_correction)),
        root_scale(static_cast<T>(1.0 / std::sqrt(second_correction))),
        correction1(static_cast<T>(first_correction)) {}
};

// One step of one parameter.
template <class T>
QW_BOTH_INLINE void adam_element(const AdamFactors<T>& f, T gradient, T& parameter, T& first, T& second) {
  const T g = gradient + f.weight_decay * parameter;
  first = f.beta1 * first + f.fresh1 * g;
  second = f.beta2 * second + f.fresh2 * g * g;
  parameter -= f.step_size * first / (std::sqrt(second) * f.root_scale + f.eps);
}

// base^exponent by squaring: on a GPU a fifth of the time of pow, and within a few ulp of it.
QW_BOTH inline double whole_power(double base, int64_t exponent) {
  double power = 1.0;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return power;
}

// As they are now on the GPU; every thread makes them for itself, which costs less than waiting for one.
template <class T, class Rule>
QW_BOTH inline AdamFactors<T> factors_now(const Rule& rule, const StepNumber& step) {
  const int64_t now = step.now();
  return AdamFactors<T>(rule, 1.0 - whole_power(rule.beta1, now), 1.0 - whole_power(rule.beta2, now));
}

}  // namespace qw::kernels
