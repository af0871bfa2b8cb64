#include "ops/cuda_glue.h"

#ifndef QW_CUDA_EMULATOR
#include <c10/cuda/CUDAStream.h>
#endif

namespace qw::ops {

#ifdef QW_CUDA_EMULATOR
kernels::Stream current_stream() { return nullptr; }
#else
kernels::Stream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
#endif

}  // namespace qw::ops
