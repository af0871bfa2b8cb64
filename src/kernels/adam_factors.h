// Adam's rule as each element sees it.
#pragma once

#include <cmath>

namespace qw::kernels {

// In the type of the elements; made from any rule with lr, beta1, beta2, eps, weight_decay and step.
template <class T>
struct AdamFactors {
  T beta1, fresh1, beta2, fresh2, weight_decay, eps, step_size, root_scale;
  T correction1;  // 1 - beta1^step, by which step_size is divided

  template <class Rule>
  explicit AdamFactors(const Rule& rule)
      : beta1(static_cast<T>(rule.beta1)),
        fresh1(static_cast<T>(1.0 - rule.beta1)),
        beta2(static_cast<T>(rule.beta2)),
        fresh2(static_cast<T>(1.0 - rule.beta2)),
        weight_decay(static_cast<T>(rule.weight_decay)),
        eps(static_cast<T>(rule.eps)) {
    const auto step = static_cast<double>(rule.step);
    const double correction = 1.0 - std::pow(rule.beta1, step);
    step_size = static_cast<T>(rule.lr / correction);
    root_scale = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(rule.beta2, step)));
    correction1 = static_cast<T>(correction);
  }
};

}  // namespace qw::kernels
