#include "kernels/graph_attention_narrow.h"

#include <cmath>

#include "kernels/graph_attention_teams.cuh"

namespace qw::kernels {
namespace {

using namespace attention;  // NOLINT(google-build-using-namespace): its parts

constexpr int kSmallTeam = 8;
constexpr int kNarrowThreads = 128;  // of a block: few, so that few of its rows are long ones

// What the lanes of a team gather for kTeam entries, the k-th of which is lane k's: a column of each.
template <class T, int kTeam>
struct GatheredByTeam {
  T values[kTeam];

  // Of rows of `table`; `column` is that of the lane's entry, `left` how many entries are left.
  __device__ GatheredByTeam(const AttentionView<T>& view, const T* table, int32_t column, int64_t left) {
    const auto lane = static_cast<int>(threadIdx.x % kTeam);
    const bool has_column = lane < view.depth;
    const auto row_bytes = static_cast<int32_t>(view.depth * static_cast<int64_t>(sizeof(T)));
#pragma unroll
    for (int k = 0; k < kTeam; ++k) {
      const int32_t other = __shfl_sync(kWholeWarp, column, k, kTeam);
      values[k] = load_pack_if<T, 1>(has_column & (k < left), row_from(table + lane, other, row_bytes)).at[0];
    }
  }

  __device__ T weighted_sum(T coefficient) const {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kTeam; ++k) sum += __shfl_sync(kWholeWarp, coefficient, k, kTeam) * values[k];
    return sum;
  }
};

template <class T, int kTeam>
struct NarrowForward {
  static constexpr int kThreads = kNarrowThreads;
  static constexpr int kTeams = kThreads / kTeam;
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  // The softmax of what has been seen so far; `sum` is the lane's own until a share ends, `total` is that of
  // its column.
  struct State {
    T maximum = kLowest;
    T sum = 0;
    T total = 0;
  };

  AttentionView<T> view;
  StepNumber epoch;
  AttentionStatistics<T> statistics;
  T* result;
  int32_t long_row;

  __device__ void operator()() const {
    const auto now = static_cast<uint32_t>(view.dropout.active ? epoch.now() : 0);
    for_rows_of_teams<kTeam, kThreads>(
        view.offsets, view.nodes, long_row,
        [&](int64_t row, const auto& share) { return of_share(row, share, now); }, join,
        [&](int64_t row, bool is_empty, const State& state) { write(row, is_empty, state); });
  }

 private:
  __device__ State of_share(int64_t row, const Share<kTeam, kThreads>& share, uint32_t now) const {
    const T target = view.target_scores[row];
    State state;
    int64_t entry = share.begin + threadIdx.x % kTeam;
    int32_t next = entry < share.end ? view.columns[entry] : 0;
#pragma unroll 1
    for (int64_t at = share.begin; __any_sync(kWholeWarp, at < share.end); at += kTeam, entry += kTeam) {
      const bool is_entry = entry < share.end;
      const int32_t column = next;
      const GatheredByTeam<T, kTeam> gathered(view, view.features, column, share.end - at);
      T score = kLowest;
      if (is_entry) {
        const T raw = view.source_scores[column] + target;
        score = leaky(raw, view.negative_slope);
      }
      if (entry + kTeam < share.end) next = view.columns[entry + kTeam];
      const T highest = largest_modulo<kTeam>(score > state.maximum ? score : state.maximum, 1);
      const T base = highest == kLowest ? T{0} : highest;
      const T shrink = state.maximum == kLowest ? T{0} : std::exp(state.maximum - base);
      state.maximum = highest;
      T coefficient = 0;
      if (is_entry) coefficient = std::exp(score - base);
      state.sum = state.sum * shrink + coefficient;
      if (is_entry && view.edge_weights != nullptr) coefficient *= view.edge_weights[entry];
      if (view.dropout.active) coefficient *= dropout_factor(view.dropout, now, entry);
      state.total = state.total * shrink + gathered.weighted_sum(coefficient);
    }
    state.sum = sum_modulo<kTeam>(state.sum, 1);
    return state;
  }

  __device__ static void join(State& state, const State& other) {
    const T highest = other.maximum > state.maximum ? other.maximum : state.maximum;
    const T shrink = state.maximum == highest ? T{1} : std::exp(state.maximum - highest);
    const T other_shrink = other.maximum == highest ? T{1} : std::exp(other.maximum - highest);
    state.maximum = highest;
    state.sum = state.sum * shrink + other.sum * other_shrink;
    state.total = state.total * shrink + other.total * other_shrink;
  }

  __device__ void write(int64_t row, bool is_empty, const State& state) const {
    const T divisor = is_empty ? T{1} : state.sum;
    const auto lane = static_cast<int>(threadIdx.x % kTeam);
    if (lane == 0) {
      statistics.maximum[row] = is_empty ? T{0} : state.maximum;
      statistics.sum[row] = divisor;
    }
    if (lane < view.depth) result[row * view.depth + lane] = state.total * (T{1} / divisor);
  }
};

// As in the derivation above the autograd class. The rows are those of the transposed pattern.
template <class T, int kTeam>
struct NarrowBackwardColumns {
  static constexpr int kThreads = kNarrowThreads;
  static constexpr int kTeams = kThreads / kTeam;

  struct State {
    T sum = 0;    // of the gradients of scores: the lane's own until a share ends
    T total = 0;  // of the lane's column
  };

  AttentionView<T> view;
  StepNumber epoch;
  const T* facts;
  const T* gradient;
  AttentionColumnGradients<T> gradients;
  int32_t long_row;

  __device__ void operator()() const {
    const auto now = static_cast<uint32_t>(view.dropout.active ? epoch.now() : 0);
    for_rows_of_teams<kTeam, kThreads>(
        view.offsets, view.nodes, long_row,
        [&](int64_t row, const auto& share) { return of_share(row, share, now); }, join,
        [&](int64_t row, bool, const State& state) { write(row, state); });
  }

 private:
  __device__ State of_share(int64_t row, const Share<kTeam, kThreads>& share, uint32_t now) const {
    const auto lane = static_cast<int>(threadIdx.x % kTeam);
    const T source = view.source_scores[row];
    const T feature = lane < view.depth ? view.features[row * view.depth + lane] : T{0};
    State state;
    int64_t entry = share.begin + lane;
    int32_t next = entry < share.end ? view.columns[entry] : 0;
    int64_t next_place = entry < share.end ? view.order[entry] : 0;
#pragma unroll 1
    for (int64_t at = share.begin; __any_sync(kWholeWarp, at < share.end); at += kTeam, entry += kTeam) {
      const bool is_entry = entry < share.end;
      const int32_t column = next;
      const int64_t place = next_place;
      const GatheredByTeam<T, kTeam> gathered(view, gradient, column, share.end - at);
      const auto fact = load_pack<T, kAttentionFacts>(facts + column * kAttentionFacts);
      if (entry + kTeam < share.end) {
        next = view.columns[entry + kTeam];
        next_place = view.order[entry + kTeam];
      }
      const T raw = source + fact.at[kTargetScore];
      const T slope = leaky_slope(raw, view.negative_slope);
      T alpha = 0;
      if (is_entry) alpha = std::exp(raw * slope - fact.at[kMaximum]) * fact.at[kReciprocal];
      T unweighted = alpha;
      if (view.dropout.active) unweighted *= dropout_factor(view.dropout, now, place);
      const T weight = is_entry && view.edge_weights != nullptr ? view.edge_weights[place] : T{1};
      const T coefficient = unweighted * weight;
      state.total += gathered.weighted_sum(coefficient);
      T products[kTeam];
#pragma unroll
      for (int k = 0; k < kTeam; ++k) products[k] = feature * gathered.values[k];
      const T dot = team_sum_of_own<kTeam>(products);
      if (is_entry) {
        const T score = slope * (coefficient * dot - alpha * fact.at[kDelta]);
        state.sum += score;
        gradients.scores[place] = score;
        if (gradients.edge_products != nullptr) gradients.edge_products[place] = unweighted * dot;
      }
    }
    state.sum = sum_modulo<kTeam>(state.sum, 1);
    return state;
  }

  __device__ static void join(State& state, const State& other) {
    state.sum += other.sum;
    state.total += other.total;
  }

  __device__ void write(int64_t row, const State& state) const {
    const auto lane = static_cast<int>(threadIdx.x % kTeam);
    if (lane == 0) gradients.source_scores[row] = state.sum;
    if (lane < view.depth) gradients.features[row * view.depth + lane] = state.total;
  }
};

// body(kTeam), as a constant.
template <class T, class Body>
void with_team(const AttentionView<T>& view, const Body& body) {
  view.depth <= kSmallTeam ? body(std::integral_constant<int, kSmallTeam>())
                           : body(std::integral_constant<int, kTeamForShortRows>());
}

}  // namespace

template <class T>
bool is_narrow_attention(const AttentionView<T>& view, int64_t entries) {
  return view.heads == 1 && view.depth <= kTeamForShortRows && has_short_rows(view.nodes, entries);
}

template <class T>
void narrow_attention_forward(const AttentionView<T>& view, const StepNumber& epoch,
                              const AttentionStatistics<T>& statistics, T* result, int64_t entries,
                              Stream stream) {
  with_team(view, [&](auto team) {
    using Task = NarrowForward<T, team()>;
    launch(Task{view, epoch, statistics, result, long_row_of(view.nodes, entries)},
           blocks_for(view.nodes, Task::kTeams), stream);
  });
}

template <class T>
void narrow_attention_backward_columns(const AttentionView<T>& view, const StepNumber& epoch, const T* facts,
                                       const T* gradient, const AttentionColumnGradients<T>& gradients,
                                       int64_t entries, Stream stream) {
  with_team(view, [&](auto team) {
    using Task = NarrowBackwardColumns<T, team()>;
    launch(Task{view, epoch, facts, gradient, gradients, long_row_of(view.nodes, entries)},
           blocks_for(view.nodes, Task::kTeams), stream);
  });
}

template bool is_narrow_attention(const AttentionView<float>&, int64_t);
template bool is_narrow_attention(const AttentionView<double>&, int64_t);
template void narrow_attention_forward(const AttentionView<float>&, const StepNumber&,
                                       const AttentionStatistics<float>&, float*, int64_t, Stream);
template void narrow_attention_forward(const AttentionView<double>&, const StepNumber&,
                                       const AttentionStatistics<double>&, double*, int64_t, Stream);
template void narrow_attention_backward_columns(const AttentionView<float>&, const StepNumber&, const float*,
                                                const float*, const AttentionColumnGradients<float>&, int64_t,
                                                Stream);
template void narrow_attention_backward_columns(const AttentionView<double>&, const StepNumber&,
                                                const double*, const double*,
                                                const AttentionColumnGradients<double>&, int64_t, Stream);

}  // namespace qw::kernels
