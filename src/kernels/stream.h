// Where a GPU's work is queued, and counts that go on while a captured step is replayed.
#pragma once

#include <cstdint>

struct CUstream_st;

// For functions that the kernels of CPU and GPU share.
#ifdef __CUDACC__
#define QW_BOTH __host__ __device__
#define QW_BOTH_INLINE __host__ __device__ __forceinline__
#else
#define QW_BOTH
#define QW_BOTH_INLINE inline __attribute__((always_inline))
#endif

namespace qw::kernels {

using Stream = CUstream_st*;  // cudaStream_t, without its header

// The number of an epoch, of a step: `base`, and when a captured step is replayed what has been counted since
// it was captured.
struct StepNumber {
  int64_t base = 0;
  const int64_t* since = nullptr;  // on the device; null: nothing

  QW_BOTH int64_t now() const { return since == nullptr ? base : base + *since; }
};

}  // namespace qw::kernels
