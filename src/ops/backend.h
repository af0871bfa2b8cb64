// How an operator is written: one file, one body for tensors on the CPU and on a GPU.
//
//   at::Tensor scaled_backend(const at::Tensor& x, double factor) {
//     check_scaled(x, factor);  // first: no way into an operator avoids its checks
//     const at::Tensor from = x.contiguous();
//     at::Tensor result = at::empty_like(from);
//     AT_DISPATCH_FLOATING_TYPES(from.scalar_type(), "qw::scaled", [&] {
//       run_on(from, [&] { kernels::scaled_cpu<scalar_t>(...); },
//              [&](auto stream) { kernels::scaled_cuda<scalar_t>(..., stream); });
//     });
//     return result;
//   }
//   QW_BACKENDS(library) { library.impl("scaled", scaled_backend); }
//   TORCH_LIBRARY_FRAGMENT(qw, library) { library.def("scaled(Tensor x, float factor) -> Tensor"); }
//
// With QW_CUDA_EMULATOR the kernels of CUDA run thread by thread on tensors of the CPU (tests/emulator).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <type_traits>
#include <utility>

#include "kernels/stream.h"

namespace qw::ops {

#if defined(QW_CUDA_EMULATOR)
constexpr bool kHasGpu = true;
inline bool on_gpu(const at::Tensor&) { return true; }
#else
constexpr bool kHasGpu = QW_HAS_CUDA != 0;
inline bool on_gpu(const at::Tensor& tensor) { return kHasGpu && tensor.is_cuda(); }
#endif

kernels::Stream current_stream();  // of the current device

// Calls `gpu(stream)`, with the device of `where` as the current one, or `cpu()`. `gpu` must be a generic
// lambda, so that a build without CUDA does not ask for its kernels.
template <class Cpu, class Gpu>
void run_on(const at::Tensor& where, const Cpu& cpu, const Gpu& gpu) {
  if constexpr (kHasGpu) {
    if (on_gpu(where)) {
      const c10::DeviceGuard device(where.device());
      return gpu(current_stream());
    }
  }
  cpu();
}

// The same for what exists on GPUs only.
template <class Gpu>
void run_on_gpu(const at::Tensor& where, const Gpu& gpu) {
  run_on(
      where, [] { TORCH_CHECK(false, "qw: this works on a GPU only"); }, gpu);
}

// Calls the operator `name`, whose arguments are those of its backend.
template <auto backend, class... Arguments>
decltype(auto) call(const char* name, Arguments&&... arguments) {
  using Signature = std::remove_pointer_t<decltype(backend)>;
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  return op.call(std::forward<Arguments>(arguments)...);
}

// `base`, or while a StepClock is in use what it has become by the time a kernel reads it.
kernels::StepNumber draw_number(int64_t base);
kernels::StepNumber network_step_number(int64_t base);
kernels::StepNumber flow_step_number(int64_t base);

// The numbers of a tensor, or null when it has none.
template <class T>
T* data_or_null(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? nullptr : tensor.data_ptr<T>();
}

}  // namespace qw::ops

// The body that follows registers the same functions for all devices.
#if QW_HAS_CUDA && !defined(QW_CUDA_EMULATOR)
#define QW_BACKENDS(library)                                                            \
  static void register_backends(torch::Library& library);                               \
  TORCH_LIBRARY_IMPL(qw, CPU, library_of_cpu) { register_backends(library_of_cpu); }    \
  TORCH_LIBRARY_IMPL(qw, CUDA, library_of_cuda) { register_backends(library_of_cuda); } \
  static void register_backends(torch::Library& library)
#else
#define QW_BACKENDS(library) TORCH_LIBRARY_IMPL(qw, CPU, library)
#endif
