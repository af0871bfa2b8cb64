// clang-format off: it would fill the lines of the example.
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
//   at::Tensor scaled_meta(const at::Tensor& x, double) {
//     return at::empty_symint(x.sym_sizes(), x.options());
//   }
//   QW_BACKENDS(library) { library.impl("scaled", scaled_backend); }
//   QW_META(library) { library.impl("scaled", scaled_meta); }
//   TORCH_LIBRARY_IMPL(qw, Autograd, library) { library.impl("scaled", scaled_autograd); }
//   TORCH_LIBRARY_FRAGMENT(qw, library) { library.def("scaled(Tensor x, float factor) -> Tensor"); }
//
// What has no gradient says so with QW_NO_GRADIENT instead. torch.compile runs the function behind Autograd,
// and what that calls, on tensors without numbers, whose sizes may be symbols: only backends look at sizes.
// The name of an operator that is nobody's but ours begins with a _.
//
// With QW_CUDA_EMULATOR the kernels of CUDA run thread by thread on tensors of the CPU (tests/emulator).
// clang-format on
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/stream.h"

namespace qw::ops {

// What a schema calls Tensor?.
using OptionalTensor = c10::optional<at::Tensor>;

// Whether all sizes are numbers, and not symbols as torch.compile has them: then they can be checked.
inline bool has_numbers(const at::Tensor& tensor) {
  return !tensor.defined() || !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}
inline bool has_numbers(const OptionalTensor& tensor) { return !tensor.has_value() || has_numbers(*tensor); }
inline bool has_numbers(at::TensorList tensors) {
  return std::ranges::all_of(tensors, [](const at::Tensor& tensor) { return has_numbers(tensor); });
}
template <class... Tensors>
bool have_numbers(const Tensors&... tensors) {
  return (has_numbers(tensors) && ...);
}

// The tensor, or [0] of these options.
inline at::Tensor or_empty(const OptionalTensor& tensor, const at::TensorOptions& options) {
  return tensor.has_value() && tensor->defined() ? *tensor : at::empty({0}, options);
}
inline OptionalTensor or_none(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : OptionalTensor();
}
// [0] stands for nothing too.
inline bool is_nothing(const at::Tensor& tensor) {
  return !tensor.defined() || (has_numbers(tensor) && tensor.dim() == 1 && tensor.size(0) == 0);
}
inline bool needs_gradient(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined() && tensor->requires_grad();
}

// The place of a name in a list; throws c10::Error that has all of them.
template <size_t count>
int64_t choice(const char* op, const char* argument, const std::string& given,
               const std::array<const char*, count>& names) {
  std::string known;
  for (size_t place = 0; place < count; ++place) {
    if (given == names[place]) return static_cast<int64_t>(place);
    known += (place == 0 ? "" : place + 1 == count ? " or " : ", ") + std::string(names[place]);
  }
  TORCH_CHECK(false, op, ": ", argument, " must be ", known, ", got '", given, "'");
}

// And back; what is in no list keeps its number, for choice() to refuse.
template <size_t count>
std::string choice_name(const std::array<const char*, count>& names, int64_t place) {
  return place >= 0 && place < static_cast<int64_t>(count) ? names[place] : std::to_string(place);
}

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

// The same, past autograd.
template <auto backend, class... Arguments>
decltype(auto) call_without_gradient(const char* name, Arguments&&... arguments) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return call<backend>(name, std::forward<Arguments>(arguments)...);
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

// The body that follows registers what gives results without numbers: their shapes.
#define QW_META(library) TORCH_LIBRARY_IMPL(qw, Meta, library)

// Makes operators raise where a gradient would have to pass through them.
#define QW_NO_GRADIENT(...)                                                  \
  TORCH_LIBRARY_IMPL(qw, Autograd, library) {                                \
    for (const char* name : {__VA_ARGS__}) {                                 \
      library.impl(name, torch::autograd::autogradNotImplementedFallback()); \
    }                                                                        \
  }
