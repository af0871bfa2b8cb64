// What the CUDA side of every operator needs. Files that include it are also built with QW_CUDA_EMULATOR, for
// tensors on the CPU and kernels of tests/emulator.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/stream.h"

#ifdef QW_CUDA_EMULATOR
#define QW_CUDA_KEY CPU
#else
#define QW_CUDA_KEY CUDA
#endif

namespace qw::ops {

kernels::Stream current_stream();  // of the current device: take a c10::DeviceGuard first

// `base`, or while a StepClock is in use what it has become by the time a kernel reads it.
kernels::Count draw_count(int64_t base);
kernels::Count network_step_count(int64_t base);
kernels::Count flow_step_count(int64_t base);

// The numbers of a tensor, or null when it has none.
template <class T>
T* data_or_null(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? nullptr : tensor.data_ptr<T>();
}

}  // namespace qw::ops
