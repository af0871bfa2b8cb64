// How the warps of a block share the rows of graph attention, and the lanes of a warp a row.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "kernels/graph_attention.h"
#include "kernels/pack.cuh"
#include "qw/core/random.h"

namespace qw::kernels::attention {

constexpr int kWarps = 8;  // of a block
constexpr int kBlockThreads = kWarps * kWarp;
constexpr int kShortRow = 32;  // entries that are always left to one warp

// A tile is what a warp does of a row: `heads` heads side by side or, of a deep head, one of more vectors
// than lanes, a piece.
struct AttentionTiles {
  int32_t all_heads;        // of a row
  int32_t vectors;          // of a head
  int32_t heads;            // of a tile
  int32_t head_bits;        // 1 << head_bits lanes have the heads of an entry side by side
  int32_t column_bits;      // 1 << column_bits lanes have the vectors of a gathered row side by side
  int32_t head_reciprocal;  // lane * this >> 16 is the lane divided by the lanes of a head
  int32_t pieces;           // of a head: 1 unless it is deep
  int32_t tiles;            // of a row
  int32_t rows;             // of a block
  int32_t row_blocks;
  int32_t long_row;   // rows with more entries are shared by the block
  int32_t row_bytes;  // of what is gathered
};

// What a lane does: one head of every entry_lanes-th entry while coefficients are made, R vectors of every
// slices-th entry while rows are gathered. They are 32 apart: of one head where it is deep, else of R heads,
// and then the warp is full: no lane is without a vector, which need not be asked.
template <int V, int R, bool kDeep>
struct Lanes {
  static constexpr int kHeads = kDeep ? 1 : R;  // that a lane has vectors of
  static constexpr bool kFull = R > 1 && !kDeep;
  int lane;
  int head_lanes, head_lane, entry_lane, entry_lanes;
  int32_t head;
  bool has_head;
  int column_lanes, slice, slices;
  int position;  // of the lane among those of its head
  int lanes_per_head;
  int piece;

  template <class T>
  __device__ Lanes(const AttentionTiles& tiles, const AttentionView<T>& view, int tile) {
    lane = static_cast<int>(threadIdx.x % kWarp);
    head_lanes = 1 << tiles.head_bits;
    head_lane = lane & (head_lanes - 1);
    entry_lane = lane >> tiles.head_bits;
    entry_lanes = kWarp >> tiles.head_bits;
    const int group = !kDeep || tiles.pieces == 1 ? tile : tile / tiles.pieces;
    piece = kDeep ? tile - group * tiles.pieces : 0;
    const int first_head = group * tiles.heads;
    const int left = static_cast<int>(view.heads) - first_head;
    heads_ = left < tiles.heads ? left : tiles.heads;
    head = first_head + head_lane;
    has_head = head_lane < heads_;
    column_lanes = kFull ? kWarp : 1 << tiles.column_bits;
    slice = kFull ? 0 : lane >> tiles.column_bits;
    slices = kFull ? 1 : kWarp >> tiles.column_bits;
    lanes_per_head = tiles.vectors < kWarp ? tiles.vectors : kWarp;
    const int at = lane & (column_lanes - 1);
    const int nth_head = at * tiles.head_reciprocal >> 16;
    position = at - nth_head * lanes_per_head;
    used_ = kFull || nth_head < heads_;
    column_head_ = used_ ? nth_head : 0;
    heads_apart_ = R == 1 || kDeep ? 0 : kWarp * tiles.head_reciprocal >> 16;
    const int within = (piece * R * kWarp + position) * V;
    column_ = (first_head + column_head_) * static_cast<int>(view.depth) + within;
    depth_left_ = static_cast<int>(view.depth) - within;
  }

  // Of the lane's r-th vector: the head lane whose coefficients it needs, whether there is such a head,
  // whether the lane is the first of it, and the vector's columns.
  __device__ int head_of(int r) const { return column_head_ + r * heads_apart_; }
  __device__ bool has_head_of(int r) const { return kFull || (used_ & (kDeep || head_of(r) < heads_)); }
  __device__ bool leads(int r) const { return (position == 0) & has_head_of(r); }
  __device__ int column(int r) const { return column_ + r * kWarp * V; }
  __device__ bool has_column(int r) const {
    return kFull || (has_head_of(r) & ((kDeep ? r * kWarp * V : 0) < depth_left_));
  }

 private:
  int heads_;
  bool used_;
  int column_head_;
  int heads_apart_;
  int column_;
  int depth_left_;
};

// Registers for as many blocks on a processor: a lane with vectors of two heads does with as few as one that
// has one, if it is told to.
template <int R, bool kDeep>
constexpr int kBlocksOf = R > 1 && !kDeep ? 3 : 0;

// Sums over the lanes of a team that are equal modulo `period`, a power of two: each of them gets it.
template <int kTeam = kWarp, class T>
__device__ T sum_modulo(T value, int period) {
  for (int offset = period; offset < kTeam; offset <<= 1) value += __shfl_xor_sync(kWholeWarp, value, offset);
  return value;
}

template <int kTeam = kWarp, class T>
__device__ T largest_modulo(T value, int period) {
  for (int offset = period; offset < kTeam; offset <<= 1) {
    const T other = __shfl_xor_sync(kWholeWarp, value, offset);
    value = other > value ? other : value;
  }
  return value;
}

// The part of a row that a team of kTeam lanes has: all of it, or of a long row as much as any other of the
// block's teams.
template <int kTeam = kWarp, int kThreads = kBlockThreads, class Index = int64_t>
struct Share {
  Index begin;
  Index end;

  __device__ Share(Index row_begin, Index row_end, bool together) : begin(row_begin), end(row_end) {
    if (!together) return;
    constexpr int kTeams = kThreads / kTeam;
    const Index length = (row_end - row_begin + kTeams - 1) / kTeams;
    begin = row_begin + static_cast<Index>(threadIdx.x / kTeam) * length;
    end = begin + length < row_end ? begin + length : row_end;
  }
};

// What a warp has of a row of its block.
using WarpShare = Share<kWarp, kBlockThreads, int32_t>;

// The rows of a block, each by one of its warps, then the long ones by all warps together. A task has a view,
// an epoch, tiles, and
//   add_entries(lanes, row, base, share, now, scratch, state);  by a warp; the share's entries are counted
//                                                               from the block's first, which is `base`: 32
//                                                               bits do for a block's, as for rows
//   fold(lanes, state);                   over the lanes
//   hand_over(lanes, state, scratch);     of a long row by each warp, then by the first
//   state = joined(lanes, scratch of all warps);
//   write(lanes, row, is_empty, state);   by one warp
template <class Task>
__device__ void do_rows_of_block(const Task& task) {
  __shared__ typename Task::Scratch all[kWarps];
  typename Task::Scratch& scratch = all[threadIdx.x / kWarp];
  const AttentionTiles& tiles = task.tiles;
  const int64_t nodes = task.view.nodes;
  const int tile = static_cast<int>(blockIdx.x / tiles.row_blocks);
  const auto now = static_cast<uint32_t>(task.view.dropout.active ? task.epoch.now() : 0);
  const typename Task::LanesHere lanes(tiles, task.view, tile);
  const int lane = static_cast<int>(threadIdx.x % kWarp), warp = static_cast<int>(threadIdx.x / kWarp);
  const auto first_row = static_cast<int32_t>(blockIdx.x % tiles.row_blocks * tiles.rows);
  const int64_t row_of_lane = int64_t{first_row} + lane;
  const int64_t offset = task.view.offsets[row_of_lane <= nodes ? row_of_lane : nodes];
  const int64_t base = __shfl_sync(kWholeWarp, offset, 0);
  const auto begin = static_cast<int32_t>(offset - base);
  const int32_t end = __shfl_down_sync(kWholeWarp, begin, 1);
  const bool is_row = lane < tiles.rows && row_of_lane < nodes;
  const bool is_long = end - begin > tiles.long_row;
  const unsigned long_rows = __ballot_sync(kWholeWarp, is_row && is_long);
  unsigned left = __ballot_sync(kWholeWarp, is_row && !is_long && lane % kWarps == warp);
#pragma unroll 1  // what is done stands once, since it is long
  for (bool together = false;; left &= left - 1) {
    if (left == 0) {
      if (together || long_rows == 0) return;
      together = true;
      left = long_rows;
    }
    const int which = __ffs(static_cast<int>(left)) - 1;
    const int32_t row_begin = __shfl_sync(kWholeWarp, begin, which);
    const int32_t row_end = __shfl_sync(kWholeWarp, end, which);
    typename Task::State state;
    task.add_entries(lanes, first_row + which, base, WarpShare(row_begin, row_end, together), now, scratch,
                     state);
    task.fold(lanes, state);
    if (together) {
      task.hand_over(lanes, state, scratch);
      __syncthreads();
      if (threadIdx.x < kWarp) state = task.joined(lanes, all);
      __syncthreads();
      if (threadIdx.x >= kWarp) continue;
    }
    task.write(lanes, first_row + which, row_begin == row_end, state);
  }
}

template <class T>
__device__ T dropout_factor(const AttentionDropout<T>& dropout, uint32_t epoch, int64_t element) {
  const auto counter = static_cast<uint64_t>(element) / 4;
  const PhiloxBlock bits =
      philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), dropout.layer, epoch},
             dropout.seed);
  // Not bits[element % 4], which would put the block into memory.
  const uint32_t low = element & 1 ? bits[1] : bits[0], high = element & 1 ? bits[3] : bits[2];
  return (element & 2 ? high : low) <= dropout.last_dropped ? T{0} : dropout.scale;
}

// Gathered rows that a lane waits for together: 64 bytes of them.
template <class T, int V, int R>
constexpr int kGathers = std::clamp(static_cast<int>(64 / (sizeof(T) * V * R)), 2, 8);

// Rows of a table that a lane gathers together: entries first, first + slices, ... of the chunk.
template <class T, int V, int R>
struct Gathered {
  static constexpr int kRows = kGathers<T, V, R>;
  Pack<T, V> rows[kRows][R];

  // That of row u, or another where there is none, whose coefficient may be multiplied with the zeros.
  template <class Lanes>
  __device__ static int entry(const Lanes& lanes, int first, int u, int count) {
    const int k = first + u * lanes.slices;
    return k < count ? k : 0;
  }

  template <class Lanes>
  __device__ void load(const T* table, const AttentionTiles& tiles, const Lanes& lanes,
                       const int32_t* columns, int first, int count) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      const bool there = first + u * lanes.slices < count;
      const int32_t column = columns[this->entry(lanes, first, u, count)];
      const T* row = row_from(table + lanes.column(0), column, tiles.row_bytes);
      for_constants<R>(
          [&](auto r) { rows[u][r] = load_pack_if<T, V, r * kWarp * V>(there & lanes.has_column(r), row); });
    }
  }
};

// Entries whose coefficients are made together.
QW_BOTH constexpr int chunk_of(int head_lanes, int coefficients) {
  return coefficients / head_lanes < kWarp ? coefficients / head_lanes : kWarp;
}

template <class T, int V>
__device__ void store_pack(T* to, const T (&values)[V], T factor) {
  Pack<T, V> pack;
  for (int v = 0; v < V; ++v) pack.at[v] = values[v] * factor;
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

inline bool has_short_rows(int64_t nodes, int64_t entries) { return entries <= kShortRow / 2 * nodes; }

// In small graphs a long row would be waited for; in large ones there is other work meanwhile.
inline int32_t long_row_of(int64_t nodes, int64_t entries) {
  const int64_t average = blocks_for(entries, std::max<int64_t>(nodes, 1));
  const int64_t least = average * (entries <= (int64_t{1} << 21) ? 2 : 4);
  return static_cast<int32_t>(std::clamp<int64_t>(least, kShortRow, INT32_MAX));
}

// Lanes, a power of two, for at least `count`, as their exponent.
inline int32_t bits_for(int64_t count) {
  return std::countr_zero(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(count, 1, kWarp))));
}

template <class T>
constexpr int kWide = 16 / static_cast<int>(sizeof(T));

// Whether the heads of these tensors, which are [nodes, heads * depth], have only vectors of 16 bytes.
template <class T, class... Tensors>
bool has_wide_rows(const AttentionView<T>& view, const Tensors*... tensors) {
  const bool aligned = ((reinterpret_cast<uintptr_t>(tensors) % 16 == 0) && ...);
  return aligned && view.depth > 0 && view.depth % kWide<T> == 0;
}

template <class T>
AttentionTiles tiles_of(const AttentionView<T>& view, int64_t entries, int64_t vectors, int vectors_per_lane,
                        int rows) {
  const int64_t most_heads = std::clamp<int64_t>(vectors_per_lane * kWarp / vectors, 1, kWarp);
  const int64_t groups = blocks_for(view.heads, most_heads);
  const int64_t heads = blocks_for(view.heads, groups);
  const int64_t pieces = vectors > kWarp ? blocks_for(vectors, kWarp * vectors_per_lane) : 1;
  return {static_cast<int32_t>(view.heads),
          static_cast<int32_t>(vectors),
          static_cast<int32_t>(heads),
          bits_for(heads),
          bits_for(heads * vectors),
          static_cast<int32_t>(65536 / std::min<int64_t>(vectors, kWarp) + 1),
          static_cast<int32_t>(pieces),
          static_cast<int32_t>(groups * pieces),
          rows,
          static_cast<int32_t>(blocks_for(view.nodes, rows)),
          long_row_of(view.nodes, entries),
          static_cast<int32_t>(view.heads * view.depth * static_cast<int64_t>(sizeof(T)))};
}

// body(tiles, V, R, kDeep), the three as constants: vectors of 16 bytes where possible, else of one element.
// Where rows are short, most of a warp's time goes into finding out what to do: a lane has vectors of two
// heads, and a warp two rows, one after the other.
template <class T, class Body, class... Tensors>
void with_tiles(const AttentionView<T>& view, int64_t entries, const Body& body, const Tensors*... tensors) {
  const bool wide = has_wide_rows(view, tensors...);
  const int64_t vectors = std::max<int64_t>(1, wide ? view.depth / kWide<T> : view.depth);
  const auto start = [&]<int V, int R, bool kDeep>() {
    const int rows = Lanes<V, R, kDeep>::kFull ? 2 * kWarps : kWarps;
    body(tiles_of(view, entries, vectors, R, rows), std::integral_constant<int, V>(),
         std::integral_constant<int, R>(), std::bool_constant<kDeep>());
  };
  constexpr int V = kWide<T>;
  const bool fills_warps = wide && kWarp % vectors == 0 && view.heads * vectors % (2 * kWarp) == 0;
  if (vectors > kWarp) {
    wide ? start.template operator()<V, 2, true>() : start.template operator()<1, 2, true>();
  } else if (fills_warps && has_short_rows(view.nodes, entries)) {
    start.template operator()<V, 2, false>();
  } else {
    wide ? start.template operator()<V, 1, false>() : start.template operator()<1, 1, false>();
  }
}

}  // namespace qw::kernels::attention
