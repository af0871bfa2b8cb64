#include "kernels/activation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "kernels/column_sums.cuh"
#include "kernels/quads.cuh"
#include "qw/core/random.h"

namespace qw::kernels {
namespace {

constexpr int kBlockThreads = 256;
constexpr int64_t kMostBlocks = 2048;
constexpr int kAtOnce = 4;  // quads that a thread has under way

template <class T>
struct Mask {
  uint32_t last_dropped;
  uint32_t layer;
  uint64_t seed;
  StepNumber epoch;
  T scale;

  Mask(const DropoutRule& rule, const StepNumber& epoch_)
      : last_dropped(static_cast<uint32_t>(dropout_threshold(rule.p) - 1)),
        layer(rule.layer),
        seed(rule.seed),
        epoch(epoch_),
        scale(static_cast<T>(1.0 / (1.0 - rule.p))) {}

  __device__ void apply(uint32_t now, int64_t quad, T dropped, T (&values)[4]) const {
    const PhiloxBlock bits =
        philox({static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32), layer, now}, seed);
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = bits[k] > last_dropped ? values[k] * scale : dropped;
  }
};

// How blocks share the elements. Four elements every `stride` quads are of the same four columns: a thread
// that takes them has one bias for each, and one sum. Strides are cut into slices of one block's threads,
// their number into chunks; a block has a chunk of a slice. Where a stride fits into one block, it is as many
// rows as do, and the block adds them up.
struct Shares {
  int64_t quads, stride, steps_per_chunk, chunks;
  uint32_t slices;

  // Of a large array a thread has at least `least_steps` quads, if possible.
  Shares(int64_t rows, int64_t width, int64_t least_steps) {
    quads = blocks_for(rows * width, 4);
    const int64_t least = width == 0 ? 1 : width / std::gcd(width, int64_t{4});
    stride = least * std::max<int64_t>(1, kBlockThreads / least);
    slices = static_cast<uint32_t>(blocks_for(stride, kBlockThreads));
    const int64_t steps = blocks_for(quads, stride);
    const int64_t most = std::max<int64_t>(1, kMostBlocks / slices);
    steps_per_chunk = std::max(std::clamp<int64_t>(steps * slices / (2 * processors()), 1, least_steps),
                               blocks_for(steps, most));
    chunks = blocks_for(steps, steps_per_chunk);
  }
  bool sums_in_block() const { return slices == 1; }
  int64_t blocks() const { return chunks * slices; }

  __device__ int64_t chunk() const { return slices == 1 ? blockIdx.x : blockIdx.x / slices; }
  // Of the thread within a stride.
  __device__ int64_t place() const {
    return (slices == 1 ? 0 : int64_t{blockIdx.x % slices} * kBlockThreads) + threadIdx.x;
  }
  __device__ int64_t end_of_chunk() const {
    const int64_t end = (chunk() + 1) * steps_per_chunk * stride;
    return end < quads ? end : quads;
  }
};

// kWhole: everything is aligned, and the number of elements a multiple of four.
template <class T, Activate kActivation, bool kWhole>
struct Forward {
  static constexpr int kThreads = kBlockThreads;
  const T* x;
  const T* bias;
  int64_t size, width;
  T* result;
  Shares shares;
  Mask<T> mask;
  bool draws;

  __device__ void operator()() const {
    const int64_t place = shares.place(), end = shares.end_of_chunk(), stride = shares.stride;
    if (place >= stride) return;
    const auto now = static_cast<uint32_t>(draws ? mask.epoch.now() : 0);
    const T dropped = kActivation == Activate::kElu ? kDropped<T> : T{0};
    T shift[4] = {};
    if (bias != nullptr) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        shift[k] = bias[static_cast<uint32_t>(4 * place + k) % static_cast<uint32_t>(width)];
    }
    for (int64_t first = shares.chunk() * shares.steps_per_chunk * stride + place; first < end;
         first += kAtOnce * stride) {
      T values[kAtOnce][4];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t quad = first + u * stride;
        if (quad < end) load_four(kWhole, x + 4 * quad, size - 4 * quad, values[u]);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t quad = first + u * stride;
        if (quad >= end) break;
#pragma unroll
        for (int k = 0; k < 4; ++k) values[u][k] = activated<kActivation>(values[u][k] + shift[k]);
        if (draws) mask.apply(now, quad, dropped, values[u]);
        store_four(kWhole, result + 4 * quad, size - 4 * quad, values[u]);
      }
    }
  }
};

template <class T, Activate kActivation, bool kWhole>
struct Backward {
  static constexpr int kThreads = kBlockThreads;
  const T* values;  // of the forward pass
  const T* gradient;
  int64_t size, width;
  Shares shares;
  Mask<T> mask;
  bool drops;  // there was dropout
  T keep;
  T* x_gradient;  // or null
  T* sums;        // or null; [chunks, width], or when there are slices [chunks, 4 * stride]

  __device__ void operator()() const {
    const int64_t place = shares.place(), stride = shares.stride;
    T sum[4] = {};
    if (place < stride) add_chunk(shares.chunk() * shares.steps_per_chunk * stride + place, sum);
    if (sums == nullptr) return;
    if (shares.slices == 1) return add_up(sum, sums + shares.chunk() * width);
    if (place < stride) store_singly(sums + 4 * (shares.chunk() * stride + place), 4, sum);
  }

 private:
  __device__ void add_chunk(int64_t begin, T (&sum)[4]) const {
    const int64_t end = shares.end_of_chunk(), stride = shares.stride;
    const auto now = static_cast<uint32_t>(drops && kActivation == Activate::kNone ? mask.epoch.now() : 0);
    for (int64_t first = begin; first < end; first += kAtOnce * stride) {
      T incoming[kAtOnce][4], results[kAtOnce][4] = {};
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t quad = first + u * stride;
        if (quad >= end) continue;
        load_four(kWhole, gradient + 4 * quad, size - 4 * quad, incoming[u]);
        if (x_gradient != nullptr) load_four(kWhole, values + 4 * quad, size - 4 * quad, results[u]);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t quad = first + u * stride;
        if (quad >= end) break;
        if (x_gradient != nullptr) {
          pull_back(now, quad, results[u], incoming[u]);
          store_four(kWhole, x_gradient + 4 * quad, size - 4 * quad, incoming[u]);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] += incoming[u][k];
      }
    }
  }

  // What relu kept was not dropped, and ELU marked what was: their masks need not be drawn again.
  __device__ void pull_back(uint32_t now, int64_t quad, const T (&result)[4], T (&incoming)[4]) const {
    if constexpr (kActivation == Activate::kNone) {
      if (drops) mask.apply(now, quad, T{0}, incoming);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const T pulled =
            pulled_back<kActivation>(incoming[k], result[k] * keep) * (drops ? mask.scale : T{1});
        incoming[k] = kActivation == Activate::kElu && drops && is_dropped(result[k]) ? T{0} : pulled;
      }
    }
  }

  // The sums of a block's threads, one after the other, are a matrix with `width` columns.
  __device__ void add_up(const T (&sum)[4], T* to) const {
    __shared__ T all[4 * kThreads];
    for (int k = 0; k < 4; ++k) all[4 * threadIdx.x + k] = sum[k];
    const auto columns = static_cast<int>(width);
    for (int rows = 4 * static_cast<int>(shares.stride) / columns; rows > 1;) {
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

// ELU's layers are wide, and their sums are fewer with more quads to a thread.
Shares shares_backward(Activate activation, int64_t rows, int64_t width) {
  return Shares(rows, width, activation == Activate::kElu ? kAtOnce : 1);
}

// body(activation, kWhole), both as constants; the pointers are those to what has `size` elements.
template <class Body, class... Pointers>
void with_constants(Activate activation, int64_t size, const Body& body, const Pointers*... pointers) {
  const bool whole = size % 4 == 0 && aligned_for_quads(pointers...);
  const auto start = [&]<Activate kActivation>() {
    const std::integral_constant<Activate, kActivation> constant;
    whole ? body(constant, std::true_type()) : body(constant, std::false_type());
  };
  switch (activation) {
    case Activate::kNone:
      return start.template operator()<Activate::kNone>();
    case Activate::kRelu:
      return start.template operator()<Activate::kRelu>();
    case Activate::kElu:
      return start.template operator()<Activate::kElu>();
  }
}

}  // namespace

template <class T>
void activate_cuda(Activate activation, const DropoutRule& rule, const StepNumber& epoch, const T* x,
                   const T* bias, int64_t rows, int64_t width, T* result, Stream stream) {
  const int64_t size = rows * width;
  const Shares shares(rows, width, kAtOnce);
  const Mask<T> mask(rule, epoch);
  const auto start = [&](auto kind, auto whole) {
    launch(Forward<T, kind(), whole()>{x, bias, size, width, result, shares, mask, rule.p > 0},
           shares.blocks(), stream);
  };
  with_constants(activation, size, start, x, result);
}

int64_t activate_backward_sums(Activate activation, int64_t rows, int64_t width) {
  const Shares shares = shares_backward(activation, rows, width);
  if (shares.sums_in_block() || width == 0) return shares.chunks;
  return shares.chunks * (4 * shares.stride / width);
}

template <class T>
void activate_backward_cuda(Activate activation, const DropoutRule& rule, const StepNumber& epoch,
                            const T* result, const T* gradient, int64_t rows, int64_t width, T* x_gradient,
                            T* bias_gradient, T* sums, Stream stream) {
  const int64_t size = rows * width;
  const Shares shares = shares_backward(activation, rows, width);
  const Mask<T> mask(rule, epoch);
  const T keep = static_cast<T>(1.0 - rule.p);
  T* const parts = bias_gradient == nullptr ? nullptr : sums;
  const auto start = [&](auto kind, auto whole) {
    launch(Backward<T, kind(), whole()>{result, gradient, size, width, shares, mask, rule.p > 0, keep,
                                        x_gradient, parts},
           shares.blocks(), stream);
  };
  with_constants(activation, size, start, result, gradient, x_gradient);
  if (bias_gradient == nullptr) return;
  column_sums(sums, activate_backward_sums(activation, rows, width), width, bias_gradient, stream);
}

template void activate_cuda(Activate, const DropoutRule&, const StepNumber&, const float*, const float*,
                            int64_t, int64_t, float*, Stream);
template void activate_cuda(Activate, const DropoutRule&, const StepNumber&, const double*, const double*,
                            int64_t, int64_t, double*, Stream);
template void activate_backward_cuda(Activate, const DropoutRule&, const StepNumber&, const float*,
                                     const float*, int64_t, int64_t, float*, float*, float*, Stream);
template void activate_backward_cuda(Activate, const DropoutRule&, const StepNumber&, const double*,
                                     const double*, int64_t, int64_t, double*, double*, double*, Stream);

}  // namespace qw::kernels
