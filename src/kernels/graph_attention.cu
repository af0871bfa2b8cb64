#include "kernels/graph_attention.h"

#include <cmath>

#include "kernels/graph_attention_warp.cuh"

namespace qw::kernels {
namespace {

using namespace attention;  // NOLINT(google-build-using-namespace): its parts

constexpr int kCoefficients = 256;  // of a warp's chunk of entries

template <class T, int V, int R, bool kDeep>
struct Forward {
  using LanesHere = Lanes<V, R, kDeep>;
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kBlocksAtOnce = kBlocksOf<R, kDeep>;
  static constexpr int kValues = std::max(kCoefficients, (2 + R * V) * kWarp);
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  struct Scratch {
    T values[kValues];  // coefficients of a chunk; what a warp hands over of a long row
    int32_t columns[kWarp];
    T weights[kWarp];  // of the edges
  };

  // The softmax of what has been seen so far: by head lane its maximum and sum, by column lane its result.
  struct State {
    T maximum = kLowest;
    T sum = 0;
    T total[R][V] = {};
  };

  AttentionView<T> view;
  StepNumber epoch;
  AttentionStatistics<T> statistics;
  T* result;
  AttentionTiles tiles;

  __device__ void operator()() const { do_rows_of_block(*this); }

  // All that is gathered is asked for as soon as its columns are known: of a short row everything at once.
  __device__ void add_entries(const LanesHere& lanes, int32_t row, int64_t base, const WarpShare& share,
                              uint32_t now, Scratch& scratch, State& state) const {
    const T target = lanes.has_head ? view.target_scores[int64_t{row} * tiles.all_heads + lanes.head] : T{0};
    const int chunk = chunk_of(lanes.head_lanes, kCoefficients);
    int32_t column = 0;
    T weight = 1;
    read_entry(base, share.begin + lanes.lane, share.end, column, weight);
    for (int32_t at = share.begin; at < share.end; at += chunk) {
      const int count = share.end - at < chunk ? share.end - at : chunk;
      __syncwarp();
      scratch.columns[lanes.lane] = column;
      scratch.weights[lanes.lane] = weight;
      __syncwarp();
      read_entry(base, at + chunk + lanes.lane, share.end, column, weight);
      Gathered<T, V, R> gathered;
      gathered.load(view.features, tiles, lanes, scratch.columns, lanes.slice, count);
      const T shrink = make_coefficients(lanes, target, base + at, count, now, scratch, state);
      __syncwarp();
      if (at != share.begin) {
        for (int r = 0; r < R; ++r) {
          const T own_shrink = __shfl_sync(kWholeWarp, shrink, lanes.head_of(r));
          for (int v = 0; v < V; ++v) state.total[r][v] *= own_shrink;
        }
      }
      const int step = gathered.kRows * lanes.slices;
#pragma unroll 1
      for (int first = lanes.slice; first < count; first += step) {
        if (first != lanes.slice) gathered.load(view.features, tiles, lanes, scratch.columns, first, count);
        add_gathered(lanes, gathered, first, count, scratch, state);
      }
    }
  }

  __device__ void read_entry(int64_t base, int32_t entry, int32_t end, int32_t& column, T& weight) const {
    if (entry >= end) return;
    column = view.columns[base + entry];
    if (view.edge_weights != nullptr) weight = view.edge_weights[base + entry];
  }

  // Returns what sums of former chunks have to be multiplied by.
  __device__ T make_coefficients(const LanesHere& lanes, T target, int64_t at, int count, uint32_t now,
                                 Scratch& scratch, State& state) const {
    T highest = state.maximum;
    if (lanes.has_head) {
#pragma unroll 1
      for (int k = lanes.entry_lane; k < count; k += lanes.entry_lanes) {
        const T raw = view.source_scores[int64_t{scratch.columns[k]} * tiles.all_heads + lanes.head] + target;
        const T score = leaky(raw, view.negative_slope);
        scratch.values[k * lanes.head_lanes + lanes.head_lane] = score;
        highest = score > highest ? score : highest;
      }
    }
    highest = largest_modulo(highest, lanes.head_lanes);
    const T base = highest == kLowest ? T{0} : highest;
    const T shrink = state.maximum == kLowest ? T{0} : std::exp(state.maximum - base);
    state.maximum = highest;
    state.sum *= shrink;
    if (!lanes.has_head) return shrink;
#pragma unroll 1  // mostly there is one turn, and a Philox block takes many registers
    for (int k = lanes.entry_lane; k < count; k += lanes.entry_lanes) {
      T& place = scratch.values[k * lanes.head_lanes + lanes.head_lane];
      T coefficient = std::exp(place - base);
      state.sum += coefficient;
      coefficient *= scratch.weights[k];
      if (view.dropout.active)
        coefficient *=
            dropout_factor(view.dropout, now, view.number_of(at + k) * tiles.all_heads + lanes.head);
      place = coefficient;
    }
    return shrink;
  }

  __device__ static void add_gathered(const LanesHere& lanes, const Gathered<T, V, R>& gathered, int first,
                                      int count, const Scratch& scratch, State& state) {
#pragma unroll
    for (int u = 0; u < gathered.kRows; ++u) {
      const int entry = gathered.entry(lanes, first, u, count);
      for (int r = 0; r < R; ++r) {
        const T coefficient = scratch.values[entry * lanes.head_lanes + lanes.head_of(r)];
        for (int v = 0; v < V; ++v) state.total[r][v] += coefficient * gathered.rows[u][r].at[v];
      }
    }
  }

  __device__ static void fold(const LanesHere& lanes, State& state) {
    state.sum = sum_modulo(state.sum, lanes.head_lanes);
    if constexpr (!LanesHere::kFull) {
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) state.total[r][v] = sum_modulo(state.total[r][v], lanes.column_lanes);
      }
    }
  }

  __device__ static void hand_over(const LanesHere& lanes, const State& state, Scratch& scratch) {
    __syncwarp();
    scratch.values[lanes.lane] = state.maximum;
    scratch.values[kWarp + lanes.lane] = state.sum;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) scratch.values[(2 + r * V + v) * kWarp + lanes.lane] = state.total[r][v];
    }
  }

  __device__ static State joined(const LanesHere& lanes, const Scratch* all) {
    State state;
    for (int w = 0; w < kWarps; ++w) {
      const T maximum = all[w].values[lanes.lane];
      state.maximum = maximum > state.maximum ? maximum : state.maximum;
    }
    const T base = state.maximum == kLowest ? T{0} : state.maximum;
#pragma unroll 2
    for (int w = 0; w < kWarps; ++w) {
      const T* values = all[w].values + lanes.lane;
      const T shrink = values[0] == kLowest ? T{0} : std::exp(values[0] - base);
      state.sum += values[kWarp] * shrink;
      for (int r = 0; r < R; ++r) {
        const T own_shrink = __shfl_sync(kWholeWarp, shrink, lanes.head_of(r));
        for (int v = 0; v < V; ++v) state.total[r][v] += values[(2 + r * V + v) * kWarp] * own_shrink;
      }
    }
    return state;
  }

  __device__ void write(const LanesHere& lanes, int32_t row, bool empty, const State& state) const {
    const T divisor = empty ? T{1} : state.sum;
    if (lanes.has_head && lanes.entry_lane == 0 && lanes.piece == 0) {
      const int64_t place = int64_t{row} * tiles.all_heads + lanes.head;
      statistics.maximum[place] = empty ? T{0} : state.maximum;
      statistics.sum[place] = divisor;
    }
    const T reciprocal = T{1} / divisor;
    for (int r = 0; r < R; ++r) {
      const T factor = __shfl_sync(kWholeWarp, reciprocal, lanes.head_of(r));
      if (lanes.slice == 0 && lanes.has_column(r))
        store_pack<T, V>(row_from(result, row, tiles.row_bytes) + lanes.column(r), state.total[r], factor);
    }
  }
};

}  // namespace

template <class T>
void graph_attention_forward_cuda(const AttentionView<T>& view, const StepNumber& epoch,
                                  const AttentionStatistics<T>& statistics, T* result, int64_t entries,
                                  Stream stream) {
  const auto start = [&](const AttentionTiles& tiles, auto vector, auto vectors, auto deep) {
    launch(Forward<T, vector(), vectors(), deep()>{view, epoch, statistics, result, tiles},
           int64_t{tiles.row_blocks} * tiles.tiles, stream);
  };
  with_tiles(view, entries, start, view.features, result);
}

template void graph_attention_forward_cuda(const AttentionView<float>&, const StepNumber&,
                                           const AttentionStatistics<float>&, float*, int64_t, Stream);
template void graph_attention_forward_cuda(const AttentionView<double>&, const StepNumber&,
                                           const AttentionStatistics<double>&, double*, int64_t, Stream);

}  // namespace qw::kernels
