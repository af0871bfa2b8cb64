#include <cmath>

#include "kernels/graph_attention.h"
#include "kernels/graph_attention_teams.cuh"

namespace qw::kernels {
namespace {

using namespace attention;  // NOLINT(google-build-using-namespace): its parts

constexpr int kCoefficients = 128;  // of a warp's chunk of entries, and of each kind

// 1 << lane_bits lanes have a row and head.
template <class T, int V>
struct RowFacts {
  static constexpr int kThreads = 256;
  const T* target_scores;
  AttentionStatistics<T> statistics;
  const T* result;
  const T* gradient;
  int64_t items;
  int64_t depth;
  int32_t lane_bits;
  T* facts;

  __device__ void operator()() const {
    const int64_t item = (blockIdx.x * int64_t{kThreads} + threadIdx.x) >> lane_bits;
    const int lanes = 1 << lane_bits, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    T delta = 0;
    if (item < items) {
#pragma unroll 4
      for (int64_t c = lane * V; c < depth; c += lanes * V) {
        const auto own = load_pack<T, V>(result + item * depth + c);
        const auto upstream = load_pack<T, V>(gradient + item * depth + c);
        for (int v = 0; v < V; ++v) delta += own.at[v] * upstream.at[v];
      }
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) delta += __shfl_xor_sync(kWholeWarp, delta, offset);
    if (item >= items || lane != 0) return;
    Pack<T, kAttentionFacts> fact;
    fact.at[kTargetScore] = target_scores[item];
    fact.at[kMaximum] = statistics.maximum[item];
    fact.at[kReciprocal] = T{1} / statistics.sum[item];
    fact.at[kDelta] = delta;
    reinterpret_cast<Pack<T, kAttentionFacts>*>(facts)[item] = fact;
  }
};

// As in the derivation above the autograd class. The rows are those of the transposed pattern.
template <class T, int V, int R, bool kDeep>
struct BackwardColumns {
  using LanesHere = Lanes<V, R, kDeep>;
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kBlocksAtOnce = kBlocksOf<R, kDeep>;

  struct Scratch {
    T coefficient[kCoefficients];
    T dot[kCoefficients];
    T slope[kCoefficients];
    T pull[kCoefficients];        // alpha * delta
    T unweighted[kCoefficients];  // the coefficient without the edge weight
    int64_t entries[kWarp];
    int32_t columns[kWarp];
  };
  static_assert((1 + R * V) * kWarp <= 5 * kCoefficients);  // hand_over's, from `coefficient` on

  struct State {
    T sum = 0;  // by head lane
    T total[R][V] = {};
    Pack<T, V> features[R] = {};  // of the row
  };

  AttentionView<T> view;
  StepNumber epoch;
  const T* facts;
  const T* gradient;
  AttentionColumnGradients<T> gradients;
  AttentionTiles tiles;

  __device__ void operator()() const { do_rows_of_block(*this); }

  // As forward: what is gathered is asked for as soon as its columns are known.
  __device__ void add_entries(const LanesHere& lanes, int32_t row, int64_t base, const WarpShare& share,
                              uint32_t now, Scratch& scratch, State& state) const {
    const T source = lanes.has_head ? view.source_scores[int64_t{row} * tiles.all_heads + lanes.head] : T{0};
    const T* features = row_from(view.features, row, tiles.row_bytes);
    for (int r = 0; r < R; ++r) {
      if (lanes.has_column(r)) state.features[r] = load_pack<T, V>(features + lanes.column(r));
    }
    const int chunk = chunk_of(lanes.head_lanes, kCoefficients);
    int32_t column = 0;
    int64_t entry = 0;
    read_entry(base, share.begin + lanes.lane, share.end, column, entry);
    for (int32_t at = share.begin; at < share.end; at += chunk) {
      const int count = share.end - at < chunk ? share.end - at : chunk;
      __syncwarp();
      scratch.columns[lanes.lane] = column;
      scratch.entries[lanes.lane] = entry;
      __syncwarp();
      read_entry(base, at + chunk + lanes.lane, share.end, column, entry);
      Gathered<T, V, R> gathered;
      gathered.load(gradient, tiles, lanes, scratch.columns, lanes.slice, count);
      if (lanes.has_head) make_coefficients(lanes, source, count, now, scratch);
      if constexpr (kDeep) {
        if (tiles.pieces > 1 && lanes.piece == 0) dot_other_pieces(lanes, features, count, scratch);
      }
      __syncwarp();
      const int step = gathered.kRows * lanes.slices;
#pragma unroll 1
      for (int begin = 0; begin < count; begin += step) {
        const int first = begin + lanes.slice;
        if (begin != 0) gathered.load(gradient, tiles, lanes, scratch.columns, first, count);
        add_gathered(lanes, gathered, first, count, scratch, state);
      }
      __syncwarp();
      if (lanes.has_head && lanes.piece == 0) write_scores(lanes, count, scratch, state);
    }
  }

  __device__ void read_entry(int64_t base, int32_t at, int32_t end, int32_t& column, int64_t& entry) const {
    if (at >= end) return;
    column = view.columns[base + at];
    entry = view.order[base + at];
  }

  __device__ void make_coefficients(const LanesHere& lanes, T source, int count, uint32_t now,
                                    Scratch& scratch) const {
#pragma unroll 1  // mostly there is one turn, and a Philox block takes many registers
    for (int k = lanes.entry_lane; k < count; k += lanes.entry_lanes) {
      const int place = k * lanes.head_lanes + lanes.head_lane;
      const int64_t other = int64_t{scratch.columns[k]} * tiles.all_heads + lanes.head;
      const int64_t entry = scratch.entries[k];
      const T weight = view.edge_weights != nullptr ? view.edge_weights[entry] : T{1};
      const auto fact = load_pack<T, kAttentionFacts>(facts + other * kAttentionFacts);
      const T raw = source + fact.at[kTargetScore];
      const T slope = leaky_slope(raw, view.negative_slope);
      const T alpha = std::exp(raw * slope - fact.at[kMaximum]) * fact.at[kReciprocal];
      T coefficient = alpha;
      if (view.dropout.active)
        coefficient *=
            dropout_factor(view.dropout, now, view.number_of(entry) * tiles.all_heads + lanes.head);
      scratch.unweighted[place] = coefficient;
      scratch.coefficient[place] = coefficient * weight;
      scratch.slope[place] = slope;
      scratch.pull[place] = alpha * fact.at[kDelta];
    }
  }

  __device__ void add_gathered(const LanesHere& lanes, const Gathered<T, V, R>& gathered, int first,
                               int count, Scratch& scratch, State& state) const {
    constexpr int kRows = Gathered<T, V, R>::kRows, kHeads = LanesHere::kHeads;
    T dots[kRows][kHeads] = {};
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int entry = gathered.entry(lanes, first, u, count);
      for (int r = 0; r < R; ++r) {
        const T coefficient = scratch.coefficient[entry * lanes.head_lanes + lanes.head_of(r)];
        for (int v = 0; v < V; ++v) {
          state.total[r][v] += coefficient * gathered.rows[u][r].at[v];
          dots[u][kDeep ? 0 : r] += state.features[r].at[v] * gathered.rows[u][r].at[v];
        }
      }
    }
    // In a full warp a head's lanes are a power of two, so that the first of them adds up no others.
    for (int offset = 1; offset < lanes.lanes_per_head; offset <<= 1) {
      const bool reaches = LanesHere::kFull || lanes.position + offset < lanes.lanes_per_head;
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        for (int h = 0; h < kHeads; ++h) {
          const T other = __shfl_down_sync(kWholeWarp, dots[u][h], offset);
          dots[u][h] += reaches ? other : T{0};
        }
      }
    }
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const int k = first + u * lanes.slices;
      for (int h = 0; h < kHeads; ++h) {
        if (k >= count || !lanes.leads(h)) continue;
        T& dot = scratch.dot[k * lanes.head_lanes + lanes.head_of(h)];
        dot = kDeep && tiles.pieces > 1 ? dot + dots[u][h] : dots[u][h];
      }
    }
  }

  // dot = the products of what of a head is not in its first piece: it belongs to other warps, which do not
  // have the whole either. Heads that deep are rare.
  __device__ void dot_other_pieces(const LanesHere& lanes, const T* features, int count,
                                   Scratch& scratch) const {
    const int64_t start = lanes.head * view.depth;
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
      const T* row = gradient + scratch.columns[k] * view.heads * view.depth;
      T dot = 0;
#pragma unroll 1
      for (int64_t c = int64_t{R} * kWarp * V + lanes.lane; c < view.depth; c += kWarp)
        dot += features[start + c] * row[start + c];
      dot = sum_modulo(dot, 1);
      if (lanes.lane == 0) scratch.dot[k] = dot;
    }
  }

  __device__ void write_scores(const LanesHere& lanes, int count, const Scratch& scratch,
                               State& state) const {
#pragma unroll 1
    for (int k = lanes.entry_lane; k < count; k += lanes.entry_lanes) {
      const int place = k * lanes.head_lanes + lanes.head_lane;
      const int64_t element = scratch.entries[k] * tiles.all_heads + lanes.head;
      const T dot = scratch.dot[place];
      const T score = scratch.slope[place] * (scratch.coefficient[place] * dot - scratch.pull[place]);
      state.sum += score;
      gradients.scores[element] = score;
      if (gradients.edge_products != nullptr)
        gradients.edge_products[element] = scratch.unweighted[place] * dot;
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
    T* values = scratch.coefficient + lanes.lane;
    values[0] = state.sum;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) values[(1 + r * V + v) * kWarp] = state.total[r][v];
    }
  }

  __device__ static State joined(const LanesHere& lanes, const Scratch* all) {
    State state;
#pragma unroll 2
    for (int w = 0; w < kWarps; ++w) {
      const T* values = all[w].coefficient + lanes.lane;
      state.sum += values[0];
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) state.total[r][v] += values[(1 + r * V + v) * kWarp];
      }
    }
    return state;
  }

  __device__ void write(const LanesHere& lanes, int32_t row, bool /*is_empty*/, const State& state) const {
    if (lanes.has_head && lanes.entry_lane == 0 && lanes.piece == 0)
      gradients.source_scores[int64_t{row} * tiles.all_heads + lanes.head] = state.sum;
    for (int r = 0; r < R; ++r) {
      if (lanes.slice == 0 && lanes.has_column(r)) {
        T* to = row_from(gradients.features, row, tiles.row_bytes) + lanes.column(r);
        store_pack<T, V>(to, state.total[r], T{1});
      }
    }
  }
};

// Sums over the entries of a row, and over the heads of an entry: a row by a team of lanes.
template <class T, int kTeam>
struct BackwardRows {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kTeams = kThreads / kTeam;
  const int64_t* offsets;
  int64_t nodes;
  int64_t heads;
  const T* scores_gradient;
  const T* edge_products;
  T* target_gradient;
  T* edge_gradient;
  int32_t head_bits;
  int32_t long_row;

  __device__ void operator()() const {
    for (int64_t first = 0; first < heads; first += head_lanes()) {
      const int64_t head = first + (lane() & (head_lanes() - 1));
      for_rows_of_teams<kTeam, kThreads>(
          offsets, nodes, long_row, [&](int64_t, const auto& share) { return sum_of(share, head); },
          [](T& sum, T other) { sum += other; },
          [&](int64_t row, bool, T sum) {
            if (lane() < head_lanes() && head < heads) target_gradient[row * heads + head] = sum;
          });
    }
  }

 private:
  __device__ int lane() const { return static_cast<int>(threadIdx.x % kTeam); }
  __device__ int head_lanes() const { return 1 << head_bits; }

  __device__ T sum_of(const Share<kTeam, kThreads>& share, int64_t head) const {
    const int entry_lane = lane() >> head_bits, entry_lanes = kTeam >> head_bits;
    T sum = 0;
#pragma unroll 4
    for (int64_t at = share.begin + entry_lane; at < share.end; at += entry_lanes) {
      if (head < heads) sum += scores_gradient[at * heads + head];
    }
    if (edge_products != nullptr) {
      for (int64_t at = share.begin; __any_sync(kWholeWarp, at < share.end); at += entry_lanes)
        add_heads(at + entry_lane, share.end, head);
    }
    return sum_modulo<kTeam>(sum, head_lanes());
  }

  __device__ void add_heads(int64_t entry, int64_t end, int64_t head) const {
    T product = entry < end && head < heads ? edge_products[entry * heads + head] : T{0};
    for (int offset = head_lanes() / 2; offset > 0; offset /= 2)
      product += __shfl_xor_sync(kWholeWarp, product, offset);
    if (entry >= end || (head & (head_lanes() - 1)) != 0) return;
    edge_gradient[entry] = head == 0 ? product : edge_gradient[entry] + product;
  }
};

}  // namespace

template <class T>
void graph_attention_row_facts_cuda(const AttentionView<T>& view, const AttentionStatistics<T>& statistics,
                                    const T* result, const T* gradient, T* facts, Stream stream) {
  const int64_t items = view.nodes * view.heads;
  const auto start = [&](auto vector) {
    using Task = RowFacts<T, vector()>;
    const int32_t bits = bits_for(blocks_for(view.depth, vector()));
    launch(Task{view.target_scores, statistics, result, gradient, items, view.depth, bits, facts},
           blocks_for(items << bits, Task::kThreads), stream);
  };
  if (has_wide_rows(view, result, gradient)) {
    start(std::integral_constant<int, kWide<T>>());
  } else {
    start(std::integral_constant<int, 1>());
  }
}

template <class T>
void graph_attention_backward_columns_cuda(const AttentionView<T>& view, const StepNumber& epoch,
                                           const T* facts, const T* gradient,
                                           const AttentionColumnGradients<T>& gradients, int64_t entries,
                                           Stream stream) {
  const auto start = [&](const AttentionTiles& tiles, auto vector, auto vectors, auto deep) {
    launch(BackwardColumns<T, vector(), vectors(), deep()>{view, epoch, facts, gradient, gradients, tiles},
           int64_t{tiles.row_blocks} * tiles.tiles, stream);
  };
  with_tiles(view, entries, start, view.features, gradient, gradients.features);
}

template <class T>
void graph_attention_backward_rows_cuda(const AttentionView<T>& view, const T* scores_gradient,
                                        const T* edge_products, T* target_gradient, T* edge_gradient,
                                        int64_t entries, Stream stream) {
  const auto start = [&](auto team) {
    using Task = BackwardRows<T, team()>;
    launch(Task{view.offsets, view.nodes, view.heads, scores_gradient, edge_products, target_gradient,
                edge_gradient, bits_for(view.heads), long_row_of(view.nodes, entries)},
           blocks_for(view.nodes, Task::kTeams), stream);
  };
  if (view.heads <= kTeamForShortRows && has_short_rows(view.nodes, entries)) {
    start(std::integral_constant<int, kTeamForShortRows>());
  } else {
    start(std::integral_constant<int, kWarp>());
  }
}

template void graph_attention_row_facts_cuda(const AttentionView<float>&, const AttentionStatistics<float>&,
                                             const float*, const float*, float*, Stream);
template void graph_attention_backward_columns_cuda(const AttentionView<float>&, const StepNumber&,
                                                    const float*, const float*,
                                                    const AttentionColumnGradients<float>&, int64_t, Stream);
template void graph_attention_backward_rows_cuda(const AttentionView<float>&, const float*, const float*,
                                                 float*, float*, int64_t, Stream);
template void graph_attention_row_facts_cuda(const AttentionView<double>&, const AttentionStatistics<double>&,
                                             const double*, const double*, double*, Stream);
template void graph_attention_backward_columns_cuda(const AttentionView<double>&, const StepNumber&,
                                                    const double*, const double*,
                                                    const AttentionColumnGradients<double>&, int64_t, Stream);
template void graph_attention_backward_rows_cuda(const AttentionView<double>&, const double*, const double*,
                                                 double*, double*, int64_t, Stream);

}  // namespace qw::kernels
