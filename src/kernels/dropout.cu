#include "kernels/dropout.h"

#include "kernels/launch.cuh"
#include "qw/core/random.h"

namespace qw::kernels {
namespace {

// A thread draws one block of four random numbers and serves four elements with it.
template <class T>
struct Dropout {
  static constexpr int kThreads = 256;
  const T* values;
  int64_t size;
  T scale;
  uint32_t threshold;
  uint64_t seed;
  uint32_t layer;
  StepNumber epoch;
  T* result;

  __device__ void operator()() const {
    const int64_t quad = blockIdx.x * int64_t{kThreads} + threadIdx.x;
    const PhiloxBlock bits = philox({static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32), layer,
                                     static_cast<uint32_t>(epoch.now())},
                                    seed);
    for (int lane = 0; lane < 4; ++lane) {
      const int64_t i = 4 * quad + lane;
      if (i < size) result[i] = kept(values[i], scale, bits[lane], threshold);
    }
  }
};

}  // namespace

template <class T>
void dropout_cuda(const DropoutRule& rule, const StepNumber& epoch, const T* values, int64_t size, T* result,
                  Stream stream) {
  const uint64_t threshold = dropout_threshold(rule.p);
  const uint32_t least = threshold > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(threshold);
  const T scale = threshold > UINT32_MAX ? T{0} : static_cast<T>(1.0 / (1.0 - rule.p));
  using Task = Dropout<T>;
  launch(Task{values, size, scale, least, rule.seed, rule.layer, epoch, result},
         blocks_for(size, 4 * Task::kThreads), stream);
}

template void dropout_cuda(const DropoutRule&, const StepNumber&, const float*, int64_t, float*, Stream);
template void dropout_cuda(const DropoutRule&, const StepNumber&, const double*, int64_t, double*, Stream);

}  // namespace qw::kernels
