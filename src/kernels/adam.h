// One step of Adam over several tensors, on raw pointers.
//
// Floor per element: 4 reads and 3 writes of sizeof(T), 8 multiplications and additions, a square root and a
// division. One pass; nothing is stored but the result. All tensors are one parallel region, divided evenly
// in chunks of kAdamChunk elements that never straddle two tensors: small ones cost no region of their own,
// and where a chunk begins does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/stream.h"

namespace qw::kernels {

constexpr int64_t kAdamChunk = 1024;

template <class T>
struct AdamTensor {
  T* parameter;
  const T* gradient;
  T* first_moment;
  T* second_moment;
  int64_t size;
};

// With g = gradient + weight_decay * parameter:
//   m = beta1 * m + (1 - beta1) * g,    v = beta2 * v + (1 - beta2) * g^2,
//   parameter -= lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps).
struct AdamRule {
  double lr, beta1, beta2, eps, weight_decay;
  int64_t step;  // from 1
};

template <class T>
void adam_cpu(const AdamRule& rule, std::span<const AdamTensor<T>> tensors);

// The same; `step` stands for the rule's. A launch for every kAdamTensors tensors that are not empty: their
// list is part of it, so that nothing need be copied to the device.
constexpr int kAdamTensors = 8;

template <class T>
void adam_cuda(const AdamRule& rule, const StepNumber& step, std::span<const AdamTensor<T>> tensors,
               Stream stream);

}  // namespace qw::kernels
