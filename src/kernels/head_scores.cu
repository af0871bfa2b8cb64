#include "kernels/head_scores.h"

#include <bit>

#include "kernels/column_sums.cuh"
#include "kernels/row_packs.cuh"

namespace qw::kernels {
namespace {

// A power of two that covers `packs`, at most `most`, as its exponent.
int32_t lane_bits(int64_t packs, int64_t most) {
  return std::countr_zero(static_cast<unsigned>(power_of_two_from(std::clamp<int64_t>(packs, 1, most))));
}

// 1 << lane_bits lanes have a head of a few rows.
template <class T, int kVector>
struct HeadScores {
  static constexpr int kThreads = 256;
  static constexpr int kRows = 4;
  HeadFeatures<T> view;
  int32_t heads, depth;
  int32_t lane_bits;
  T* source_scores;
  T* target_scores;

  __device__ void operator()() const {
    const int lanes = 1 << lane_bits, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    const auto item =
        static_cast<uint32_t>(blockIdx.x * (kThreads >> lane_bits) + (threadIdx.x >> lane_bits));
    const int head = static_cast<int>(item % static_cast<uint32_t>(heads));
    const int64_t first = int64_t{item / static_cast<uint32_t>(heads)} * kRows;
    T of_source[kRows] = {}, of_target[kRows] = {};
    for (int c = lane * kVector; c < depth; c += lanes * kVector) {
      const auto source = load_pack<T, kVector>(view.source + head * depth + c);
      const auto target = load_pack<T, kVector>(view.target + head * depth + c);
      const T* from = view.features + (first * heads + head) * depth + c;
      Pack<T, kVector> x[kRows];
#pragma unroll
      for (int u = 0; u < kRows; ++u)
        x[u] = load_pack_if<T, kVector>(first + u < view.nodes, from + int64_t{u} * heads * depth);
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          of_source[u] += x[u].at[v] * source.at[v];
          of_target[u] += x[u].at[v] * target.at[v];
        }
      }
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        of_source[u] += __shfl_xor_sync(kWholeWarp, of_source[u], offset);
        of_target[u] += __shfl_xor_sync(kWholeWarp, of_target[u], offset);
      }
    }
    if (lane != 0) return;
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      if (first + u >= view.nodes) break;
      source_scores[(first + u) * heads + head] = of_source[u];
      target_scores[(first + u) * heads + head] = of_target[u];
    }
  }
};

// A block has `rows` rows and, of their columns, a tile of as many packs as it has lanes; its groups of lanes
// take turns at the rows.
template <class T, int kVector>
struct HeadScoresBackward {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = sizeof(T) == 4 ? 3 : 0;  // with four rows each it waits for memory
  static constexpr int kSums = 2 * kVector;
  HeadFeatures<T> view;
  HeadScoresGradients<T> gradients;
  int32_t lane_bits;
  int32_t tiles;
  int64_t rows;

  __device__ void operator()() const {
    __shared__ T shared[kSums][kThreads];
    const int lanes = 1 << lane_bits, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    const int group = static_cast<int>(threadIdx.x) >> lane_bits, groups = kThreads >> lane_bits;
    const auto part = static_cast<int64_t>(blockIdx.x / tiles);
    const int64_t width = view.heads * view.depth;
    const int64_t column = (int64_t{blockIdx.x % tiles} * lanes + lane) * kVector;
    T sums[kSums] = {};
    if (column < width)
      add_rows(part * rows + group, groups, min(view.nodes, (part + 1) * rows), column, sums);
#pragma unroll
    for (int k = 0; k < kSums; ++k) shared[k][threadIdx.x] = sums[k];
    for (int half = groups / 2; half > 0; half /= 2) {
      __syncthreads();
      if (group >= half) continue;
#pragma unroll
      for (int k = 0; k < kSums; ++k) shared[k][threadIdx.x] += shared[k][threadIdx.x + half * lanes];
    }
    if (group != 0 || column >= width) return;
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[k] = shared[k][threadIdx.x];
    T* to = gradients.parts + part * 2 * width + column;
    store_pack<T, kVector>(to, sums);
    store_pack<T, kVector>(to + width, sums + kVector);
  }

 private:
  __device__ static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

  __device__ void add_rows(int64_t begin, int step, int64_t end, int64_t column, T (&sums)[kSums]) const {
    const int64_t width = view.heads * view.depth;
    const int64_t head = static_cast<uint32_t>(column) / static_cast<uint32_t>(view.depth);
    const auto source = load_pack<T, kVector>(view.source + column);
    const auto target = load_pack<T, kVector>(view.target + column);
    // Loaded together: what is stored might be what is loaded next, for all the compiler knows.
    constexpr int kAtOnce = 4;
    for (int64_t first = begin; first < end; first += kAtOnce * step) {
      T of_source[kAtOnce], of_target[kAtOnce];
      Pack<T, kVector> x[kAtOnce], gradient[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t row = first + u * step < end ? first + u * step : first;
        of_source[u] = gradients.source_scores[row * view.heads + head];
        of_target[u] = gradients.target_scores[row * view.heads + head];
        x[u] = load_pack<T, kVector>(view.features + row * width + column);
        gradient[u] = load_pack<T, kVector>(gradients.features + row * width + column);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (first + u * step >= end) break;
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          sums[v] += of_source[u] * x[u].at[v];
          sums[kVector + v] += of_target[u] * x[u].at[v];
          gradient[u].at[v] += of_source[u] * source.at[v] + of_target[u] * target.at[v];
        }
        store_pack<T, kVector>(gradients.features + (first + u * step) * width + column, gradient[u].at);
      }
    }
  }
};

// body(width of a vector): 16 bytes where all heads have only such.
template <class T, class Body, class... Tensors>
void with_vector(const HeadFeatures<T>& view, const Body& body, const Tensors*... tensors) {
  const bool wide = view.depth % kWideVector<T> == 0 && is_aligned(view.features) &&
                    is_aligned(view.source) && is_aligned(view.target) && (is_aligned(tensors) && ...);
  wide ? body(std::integral_constant<int, kWideVector<T>>()) : body(std::integral_constant<int, 1>());
}

int64_t rows_of_part(int64_t nodes, int64_t width) {
  const int64_t most_parts = 8 * processors();
  return std::max<int64_t>(width <= 64 ? 32 : 8, blocks_for(nodes, most_parts));
}

}  // namespace

int64_t head_scores_parts_cuda(int64_t nodes, int64_t width) {
  return blocks_for(nodes, rows_of_part(nodes, width));
}

template <class T>
void head_scores_cuda(const HeadFeatures<T>& view, T* source_scores, T* target_scores, Stream stream) {
  with_vector<T>(view, [&](auto vector) {
    using Task = HeadScores<T, vector()>;
    const int32_t bits = lane_bits(blocks_for(view.depth, vector()), kWarp);
    const int64_t items = blocks_for(view.nodes, Task::kRows) * view.heads;
    launch(Task{view, static_cast<int32_t>(view.heads), static_cast<int32_t>(view.depth), bits, source_scores,
                target_scores},
           blocks_for(items << bits, Task::kThreads), stream);
  });
}

template <class T>
void head_scores_backward_cuda(const HeadFeatures<T>& view, const HeadScoresGradients<T>& gradients,
                               Stream stream) {
  const int64_t width = view.heads * view.depth, parts = head_scores_parts_cuda(view.nodes, width);
  const auto start = [&](auto vector) {
    using Task = HeadScoresBackward<T, vector()>;
    const int64_t packs = blocks_for(width, vector());
    const int32_t bits = lane_bits(packs, Task::kThreads);
    const int64_t tiles = blocks_for(packs, int64_t{1} << bits);
    launch(Task{view, gradients, bits, static_cast<int32_t>(tiles), rows_of_part(view.nodes, width)},
           parts * tiles, stream);
  };
  with_vector<T>(view, start, gradients.features, gradients.parts);
  column_sums(gradients.parts, parts, 2 * width, gradients.vectors, stream);
}

template void head_scores_cuda(const HeadFeatures<float>&, float*, float*, Stream);
template void head_scores_cuda(const HeadFeatures<double>&, double*, double*, Stream);
template void head_scores_backward_cuda(const HeadFeatures<float>&, const HeadScoresGradients<float>&,
                                        Stream);
template void head_scores_backward_cuda(const HeadFeatures<double>&, const HeadScoresGradients<double>&,
                                        Stream);

}  // namespace qw::kernels
