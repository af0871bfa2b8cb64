// How a kernel is written and launched: one way for all of them, so that the same kernel of several trainings
// can become one launch (merge.h).
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
// It sees threadIdx.x and blockIdx.x, not gridDim: the grid may be that of a larger training beside it.
//
// What tests/emulator can run on a CPU is all that may be used: __syncthreads, __syncwarp, __shfl_*_sync and
// __ballot_sync by whole warps, __shared__ arrays.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/stream.h"

namespace qw::kernels {

constexpr int kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffu;
constexpr size_t kParameterBytes = 4000;  // that a launch takes on any device

template <class Task>
struct Slot {
  Task task;
  unsigned blocks;
};

// Trainings of one launch. Two leave the device half as many launches to begin; of more, all wait for the
// last block of any, where launches of other trainings, which wait for none of them, would fill the gap: ten
// runs on Cora take 0.171 ms a step of GCN with two, 0.201 with all ten, 0.174 with launches of their own.
constexpr int kSlots = 2;

template <class Task>
struct Slots {
  Slot<Task> of[kSlots];
};

// A kernel as a node of a captured graph shows it, and the one that stands for several of it.
struct MergeableKernel {
  const void* one;
  const void* several;
  int slot_bytes;
};
bool remember_kernel(const MergeableKernel& kernel);
// Throws qw::Error, naming what was done, unless `status` is cudaSuccess.
void check_cuda(cudaError_t status, const char* doing);

constexpr int64_t blocks_for(int64_t elements, int64_t per_block) {
  return (elements + per_block - 1) / per_block;
}

#ifndef QW_CUDA_EMULATOR

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
    run_one(const __grid_constant__ Slot<Task> slot) {
  slot.task();
}

template <class Task>
__global__ void __launch_bounds__(Task::kThreads, blocks_at_once<Task>())
    run_several(const __grid_constant__ Slots<Task> slots) {
  const Slot<Task>& slot = slots.of[blockIdx.y];
  if (blockIdx.x < slot.blocks) slot.task();
}

template <class Task>
void launch(const Task& task, int64_t blocks, Stream stream) {
  static_assert(std::is_trivially_copyable_v<Task> && sizeof(Slots<Task>) <= kParameterBytes);
  static const bool remembered =
      remember_kernel({reinterpret_cast<const void*>(run_one<Task>),
                       reinterpret_cast<const void*>(run_several<Task>), sizeof(Slot<Task>)});
  if (blocks == 0 || !remembered) return;
  Slot<Task> slot{task, static_cast<unsigned>(blocks)};
  void* arguments[] = {&slot};
  check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(run_one<Task>), dim3(slot.blocks),
                              dim3(Task::kThreads), arguments, 0, stream),
             "launching a kernel");
}

#else

// As an H200 has them.
inline int64_t processors() { return 132; }
inline int64_t threads_of_device() { return processors() * 2048; }

template <class Task>
void launch(const Task& task, int64_t blocks, Stream) {
  static_assert(std::is_trivially_copyable_v<Task> && sizeof(Slots<Task>) <= kParameterBytes);
  emulator::run(blocks, Task::kThreads, [&] { task(); });
}

#endif

}  // namespace qw::kernels
