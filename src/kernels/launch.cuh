// How a kernel is written and launched: one way for all of them, on a GPU and in tests/emulator.
//
// A kernel is a Task: a trivially copyable struct with what it works on, the threads of a block, and the
// work.
//   template <class T>
//   struct Scale {
//     static constexpr int kThreads = 256;
//     const T* x; T factor; int64_t size; T* result;
//     __device__ void operator()() const {
//       const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
//       if (i < size) result[i] = factor * x[i];
//     }
//   };
//   launch(Scale<T>{x, 2, size, result}, blocks_for(size, Scale<T>::kThreads), stream);
// It sees threadIdx.x and blockIdx.x. What tests/emulator can run on a CPU is all that may be used:
// __syncthreads, __syncwarp, __shfl_*_sync and
// __ballot_sync by whole warps, __shared__ arrays.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/stream.h"
#include "qw/core/error.h"

namespace qw::kernels {

constexpr int kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffu;
constexpr size_t kParameterBytes = 4000;  // that a launch takes on any device

constexpr int64_t blocks_for(int64_t elements, int64_t per_block) {
  return (elements + per_block - 1) / per_block;
}

#ifndef QW_CUDA_EMULATOR

// Throws qw::Error, naming what was done, unless `status` is cudaSuccess.
inline void check_cuda(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) fail(std::string("CUDA: ") + doing + ": " + cudaGetErrorString(status));
}

inline int64_t device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current device");
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "asking for the size of a device");
  return value;
}
// Of the current device: sizes grids.
inline int64_t processors() { return device_attribute(cudaDevAttrMultiProcessorCount); }
inline int64_t threads_of_device() {
  return processors() * device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
}

// Blocks that a processor is to have room for: Task::kBlocksAtOnce, if there is one.
template <class Task>
constexpr int blocks_at_once() {
  if constexpr (requires { Task::kBlocksAtOnce; }) return Task::kBlocksAtOnce;
  return 0;
}

template <class Task>
__global__ void __launch_bounds__(Task::kThreads, blocks_at_once<Task>())
    run_task(const __grid_constant__ Task task) {
  task();
}

template <class Task>
void launch(const Task& task, int64_t blocks, Stream stream) {
  static_assert(std::is_trivially_copyable_v<Task> && sizeof(Task) <= kParameterBytes);
  if (blocks == 0) return;
  run_task<<<static_cast<unsigned>(blocks), Task::kThreads, 0, stream>>>(task);
  check_cuda(cudaGetLastError(), "launching a kernel");
}

#else

// As an H200 has them.
inline int64_t processors() { return 132; }
inline int64_t threads_of_device() { return processors() * 2048; }

template <class Task>
void launch(const Task& task, int64_t blocks, Stream) {
  static_assert(std::is_trivially_copyable_v<Task> && sizeof(Task) <= kParameterBytes);
  emulator::run(blocks, Task::kThreads, [&] { task(); });
}

#endif

}  // namespace qw::kernels
