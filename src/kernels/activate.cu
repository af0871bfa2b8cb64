#include "kernels/activate.h"

#include <algorithm>
#include <numeric>

#include "kernels/column_sums.cuh"
#include "kernels/quads.cuh"
#include "qw/core/random.h"

namespace qw::kernels {
namespace {

constexpr int kBlockThreads = 256;
constexpr int64_t kMostBlocks = 2048;

template <class T>
struct Mask {
  uint64_t threshold;  // 2^32 drops everything
  uint64_t seed;
  Count epoch;
  uint32_t layer;
  T scale;

  Mask(const DropoutRule& rule, const Count& epoch_)
      : threshold(dropout_threshold(rule.p)),
        seed(rule.seed),
        epoch(epoch_),
        layer(rule.layer),
        scale(static_cast<T>(1.0 / (1.0 - rule.p))) {}

  __device__ void apply(int64_t quad, T (&values)[4]) const {
    const PhiloxBlock bits = philox({static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32), layer,
                                     static_cast<uint32_t>(epoch.now())},
                                    seed);
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = bits[k] >= threshold ? values[k] * scale : T{0};
  }
};

template <class T>
__device__ T activated(Activate activation, T z) {
  if (activation == Activate::kRelu) return z < 0 ? T{0} : z;
  if (activation == Activate::kElu) return z < 0 ? static_cast<T>(expm1(z)) : z;
  return z;
}

// The gradient of z from that of a = activated(z), and a. Where relu cut, it is 0 whatever came in.
template <class T>
__device__ T pulled_back(Activate activation, T gradient, T a) {
  if (activation == Activate::kRelu) return a <= 0 ? T{0} : gradient;
  if (activation == Activate::kElu) return gradient * (a > 0 ? T{1} : a + T{1});
  return gradient;
}

template <class T>
__device__ void load_four(bool by_quads, const T* from, int64_t left, T (&to)[4]) {
  by_quads&& left >= 4 ? load_quad(from, to) : load_singly(from, left, to);
}
template <class T>
__device__ void store_four(bool by_quads, T* to, int64_t left, const T (&from)[4]) {
  by_quads&& left >= 4 ? store_quad(to, from) : store_singly(to, left, from);
}

template <class T>
struct Forward {
  static constexpr int kThreads = kBlockThreads;
  const T* x;
  const T* bias;
  int64_t size, width;
  T* result;
  Mask<T> mask;
  Activate activation;
  bool draws, by_quads;

  __device__ void operator()() const {
    const int64_t quad = int64_t{blockIdx.x} * kThreads + threadIdx.x;
    const int64_t left = size - 4 * quad;
    if (left <= 0) return;
    T values[4];
    load_four(by_quads, x + 4 * quad, left, values);
    int64_t column = 0;
    if (bias != nullptr) {  // a division of 32 bits is a quarter of one of 64
      column = size <= UINT32_MAX ? static_cast<uint32_t>(4 * quad) % static_cast<uint32_t>(width)
                                  : 4 * quad % width;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (bias != nullptr) {
        values[k] += __ldg(bias + column);
        if (++column == width) column = 0;
      }
      values[k] = activated(activation, values[k]);
    }
    if (draws) mask.apply(quad, values);
    store_four(by_quads, result + 4 * quad, left, values);
  }
};

// How blocks share the rows of a backward pass. Four elements every `stride` quads are of the same four
// columns: a thread that takes them has one sum for each. Strides are cut into slices of one block's threads,
// their number into chunks; a block has a chunk of a slice. Where a stride fits into one block, it is as many
// rows as do, and the block adds them up.
struct Shares {
  int64_t quads, stride, slices, steps_per_chunk, chunks;

  Shares(int64_t rows, int64_t width) {
    quads = blocks_for(rows * width, 4);
    const int64_t least = width == 0 ? 1 : width / std::gcd(width, int64_t{4});
    stride = least * std::max<int64_t>(1, kBlockThreads / least);
    slices = blocks_for(stride, kBlockThreads);
    const int64_t steps = blocks_for(quads, stride);
    const int64_t most = std::max<int64_t>(1, kMostBlocks / slices);
    steps_per_chunk = std::max<int64_t>(1, blocks_for(steps, most));
    chunks = blocks_for(steps, steps_per_chunk);
  }
  bool sums_in_block() const { return slices == 1; }
};

template <class T>
struct Backward {
  static constexpr int kThreads = kBlockThreads;
  const T* values;  // of the forward pass
  const T* gradient;
  int64_t size, width;
  int64_t stride, steps_per_chunk;
  uint32_t slices;
  Activate activation;
  bool draws, by_quads;
  T keep, scale;
  Mask<T> mask;
  T* x_gradient;  // or null
  T* sums;        // or null; [chunks, width], or when there are slices [chunks, 4 * stride]

  __device__ void operator()() const {
    const int64_t chunk = blockIdx.x / slices;
    const int64_t place = int64_t{blockIdx.x % slices} * kThreads + threadIdx.x;  // in a stride
    T sum[4] = {};
    if (place < stride) {
      int64_t quad = chunk * steps_per_chunk * stride + place;
      for (int64_t step = 0; step < steps_per_chunk && 4 * quad < size; ++step, quad += stride) {
        take(quad, sum);
      }
    }
    if (sums == nullptr) return;
    if (slices == 1) return add_up(sum, sums + chunk * width);
    if (place < stride) store_singly(sums + 4 * (chunk * stride + place), 4, sum);
  }

  __device__ void take(int64_t quad, T (&sum)[4]) const {
    const int64_t left = size - 4 * quad;
    T incoming[4];
    load_four(by_quads, gradient + 4 * quad, left, incoming);
    if (x_gradient != nullptr) {
      T results[4];
      load_four(by_quads, values + 4 * quad, left, results);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        incoming[k] = pulled_back(activation, incoming[k] * scale, results[k] * keep);
      }
      if (draws) mask.apply(quad, incoming);
      store_four(by_quads, x_gradient + 4 * quad, left, incoming);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += k < left ? incoming[k] : T{0};
  }

  // The sums of a block's threads, one after the other, are a matrix with `width` columns.
  __device__ void add_up(const T (&sum)[4], T* to) const {
    __shared__ T all[4 * kThreads];
    for (int k = 0; k < 4; ++k) all[4 * threadIdx.x + k] = sum[k];
    const auto columns = static_cast<int>(width);
    for (int rows = 4 * static_cast<int>(stride) / columns; rows > 1;) {
      const int half = (rows + 1) / 2;
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < (rows - half) * columns; i += kThreads) {
        all[i] += all[i + half * columns];
      }
      rows = half;
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += kThreads) to[c] = all[c];
  }
};

}  // namespace

template <class T>
void activate_cuda(Activate activation, const DropoutRule& rule, const Count& epoch, const T* x,
                   const T* bias, int64_t rows, int64_t width, T* result, Stream stream) {
  launch(Forward<T>{x, bias, rows * width, width, result, Mask<T>(rule, epoch), activation, rule.p > 0,
                    aligned_for_quads(x, result)},
         blocks_for(rows * width, 4 * kBlockThreads), stream);
}

int64_t activate_backward_sums(int64_t rows, int64_t width) {
  const Shares shares(rows, width);
  if (shares.sums_in_block() || width == 0) return shares.chunks;
  return shares.chunks * (4 * shares.stride / width);
}

template <class T>
void activate_backward_cuda(Activate activation, const DropoutRule& rule, const Count& epoch, const T* result,
                            const T* gradient, int64_t rows, int64_t width, T* x_gradient, T* bias_gradient,
                            T* sums, Stream stream) {
  const Shares shares(rows, width);
  const Mask<T> mask(rule, epoch);
  // What relu kept was not dropped, so that its mask need not be drawn again.
  const bool draws = rule.p > 0 && activation != Activate::kRelu;
  const T keep = static_cast<T>(1.0 - rule.p);
  launch(Backward<T>{result, gradient, rows * width, width, shares.stride, shares.steps_per_chunk,
                     static_cast<uint32_t>(shares.slices), activation, draws,
                     aligned_for_quads(result, gradient, x_gradient), keep,
                     draws || rule.p == 0 ? T{1} : mask.scale, mask, x_gradient,
                     bias_gradient == nullptr ? nullptr : sums},
         rows * width == 0 ? 0 : shares.chunks * shares.slices, stream);
  if (bias_gradient == nullptr) return;
  column_sums(sums, activate_backward_sums(rows, width), width, bias_gradient, stream);
}

template void activate_cuda(Activate, const DropoutRule&, const Count&, const float*, const float*, int64_t,
                            int64_t, float*, Stream);
template void activate_cuda(Activate, const DropoutRule&, const Count&, const double*, const double*, int64_t,
                            int64_t, double*, Stream);
template void activate_backward_cuda(Activate, const DropoutRule&, const Count&, const float*, const float*,
                                     int64_t, int64_t, float*, float*, float*, Stream);
template void activate_backward_cuda(Activate, const DropoutRule&, const Count&, const double*, const double*,
                                     int64_t, int64_t, double*, double*, double*, Stream);

}  // namespace qw::kernels
