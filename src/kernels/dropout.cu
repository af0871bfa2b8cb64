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

// A warp serves a row. Its random bits may begin within a block of four, so that every element draws its own.
template <class T>
struct DropoutOfRows {
  static constexpr int kThreads = 256;
  static constexpr int kRows = kThreads / kWarp;
  const int64_t* begins;
  const int64_t* firsts;
  int64_t rows;
  const T* values;
  T scale;
  uint32_t threshold;
  uint64_t seed;
  uint32_t layer;
  StepNumber epoch;
  T* result;

  __device__ void operator()() const {
    const int64_t row = blockIdx.x * int64_t{kRows} + threadIdx.x / kWarp;
    if (row >= rows) return;
    const auto now = static_cast<uint32_t>(epoch.now());
    for (int64_t i = begins[row] + threadIdx.x % kWarp; i < begins[row + 1]; i += kWarp) {
      const auto element = static_cast<uint64_t>(firsts[row] + i - begins[row]);
      const PhiloxBlock bits = philox(
          {static_cast<uint32_t>(element / 4), static_cast<uint32_t>(element / 4 >> 32), layer, now}, seed);
      result[i] = kept(values[i], scale, bits[element % 4], threshold);
    }
  }
};

// What elements are compared with, and those that stay multiplied by.
template <class T>
struct Cut {
  uint32_t threshold;
  T scale;

  explicit Cut(double p) {
    const uint64_t exact = dropout_threshold(p);
    threshold = exact > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(exact);
    scale = exact > UINT32_MAX ? T{0} : static_cast<T>(1.0 / (1.0 - p));
  }
};

}  // namespace

template <class T>
void dropout_cuda(const DropoutRule& rule, const StepNumber& epoch, const T* values, int64_t size, T* result,
                  Stream stream) {
  const Cut<T> cut(rule.p);
  using Task = Dropout<T>;
  launch(Task{values, size, cut.scale, cut.threshold, rule.seed, rule.layer, epoch, result},
         blocks_for(size, 4 * Task::kThreads), stream);
}

template <class T>
void dropout_rows_cuda(const DropoutRule& rule, const StepNumber& epoch, const int64_t* begins,
                       const int64_t* firsts, int64_t rows, const T* values, T* result, Stream stream) {
  const Cut<T> cut(rule.p);
  using Task = DropoutOfRows<T>;
  launch(Task{begins, firsts, rows, values, cut.scale, cut.threshold, rule.seed, rule.layer, epoch, result},
         blocks_for(rows, Task::kRows), stream);
}

template void dropout_cuda(const DropoutRule&, const StepNumber&, const float*, int64_t, float*, Stream);
template void dropout_cuda(const DropoutRule&, const StepNumber&, const double*, int64_t, double*, Stream);
template void dropout_rows_cuda(const DropoutRule&, const StepNumber&, const int64_t*, const int64_t*,
                                int64_t, const float*, float*, Stream);
template void dropout_rows_cuda(const DropoutRule&, const StepNumber&, const int64_t*, const int64_t*,
                                int64_t, const double*, double*, Stream);

}  // namespace qw::kernels
