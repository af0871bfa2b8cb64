// What one entry of a prediction adds to a divergence, and its gradient: what the kernels of CPU and GPU
// share.
#pragma once

#include <cmath>

#include "kernels/divergence.h"
#include "kernels/exponential.h"

namespace qw::kernels {

template <class T>
struct DivergenceTerm {
  double value;
  T slope;
};

template <class T>
QW_BOTH_INLINE bool is_unknown(T label) {
  return std::isnan(label);
}

template <class T>
QW_BOTH_INLINE T weight_of(const LabelledRows<T>& rows, int64_t c) {
  return rows.class_weights == nullptr ? T{1} : rows.class_weights[c];
}

// y log y, with its limit at 0; certain labels cost no logarithm.
template <class T>
QW_BOTH_INLINE double entropy_term(T y) {
  return y > 0 && y != 1 ? static_cast<double>(y) * std::log(static_cast<double>(y)) : 0.0;
}

// Of a soft label with the weight `weight`.
template <class T>
QW_BOTH_INLINE double softmax_value(T y, double weight, double log_probability) {
  return weight * (entropy_term(y) - static_cast<double>(y) * log_probability);
}

template <class T>
QW_BOTH_INLINE DivergenceTerm<T> least_squares_term(T z, T y, T weight) {
  const T residual = is_unknown(y) ? T{0} : z - y;
  return {static_cast<double>(weight) * static_cast<double>(residual) * static_cast<double>(residual),
          2 * weight * residual};
}

// log(1 + e^z) - y z, without overflow, plus the entropy of a label that is neither 0 nor 1.
template <class T>
QW_BOTH_INLINE DivergenceTerm<T> bernoulli_term(T z, T y, T weight) {
  if (is_unknown(y)) return {0.0, T{0}};
  const T decay = exponential(z > 0 ? -z : z);
  const T probability = (z > 0 ? T{1} : decay) / (1 + decay);
  const double softplus = (z > 0 ? static_cast<double>(z) : 0.0) + std::log(1.0 + static_cast<double>(decay));
  return {static_cast<double>(weight) * (softplus - static_cast<double>(y) * static_cast<double>(z) +
                                         entropy_term(y) + entropy_term(1 - y)),
          weight * (probability - y)};
}

}  // namespace qw::kernels
