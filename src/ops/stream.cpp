#include "ops/backend.h"

#if QW_HAS_CUDA && !defined(QW_CUDA_EMULATOR)
#include <c10/cuda/CUDAStream.h>
#endif

namespace qw::ops {

#if QW_HAS_CUDA && !defined(QW_CUDA_EMULATOR)
kernels::Stream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
#else
kernels::Stream current_stream() { return nullptr; }
#endif

}  // namespace qw::ops
