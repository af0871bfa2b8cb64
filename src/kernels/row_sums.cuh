// result[i, :] = sum over the entries k of row i of value(k) * dense[source(k), :], for a sparse matrix given
// by its entries. What spmm and incidence have in common. Matrices with fewer entries are row_windows.cuh's.
//
// Lanes have 16 bytes of a row of `dense` each where they can; several such groups of lanes share a row's
// entries. In a large matrix a row that would keep one block busy for long is cut into chunks of fixed size,
// which blocks at the front of the grid sum up, and a second launch adds them.
#pragma once

#include "kernels/row_teams.cuh"
#include "kernels/row_windows.cuh"

namespace qw::kernels {

constexpr int power_of_two_from(int64_t least) {
  int power = 1;
  while (power < least) power *= 2;
  return power;
}

// The columns of a row: `tiles` parts, in each so many lanes with so many packs.
struct ColumnSplit {
  int lanes;
  int packs;
  int tiles;
};

inline ColumnSplit split_columns(int64_t width, int vector) {
  const int64_t in_tile = vector == 1 ? 64 : 32;
  const int64_t all = blocks_for(width, vector);
  const int64_t tiles = blocks_for(all, in_tile);
  if (tiles == 0) return {4, 1, 0};
  const int64_t packs = blocks_for(all, tiles);
  const int one_each = power_of_two_from(std::max<int64_t>(packs, 4));
  const int three_each = power_of_two_from(blocks_for(packs, 3));
  if (packs > 8 && 3 * three_each < one_each) return {three_each, 3, static_cast<int>(tiles)};
  if (one_each > kWarp) return {kWarp, 2, static_cast<int>(tiles)};
  return {one_each, 1, static_cast<int>(tiles)};
}

// Chunks that rows longer than one are cut into; none when windows is 0. Window j has the entries from j *
// chunk on, and at most two rows with a chunk that begins in it: the row that its first entry is of, and the
// row that its last entry is of. Their sums are partial[2 j] and partial[2 j + 1].
struct Chunks {
  int64_t windows;
  int64_t chunk;
};

inline Chunks chunks_of(int64_t entries) {
  if (entries < kEntriesForWindows) return {0, INT64_MAX};
  int64_t chunk = 4096;
  while (entries / chunk > 4096) chunk *= 2;
  return {blocks_for(entries, chunk), chunk};
}

// A row and the entries of it that begin in a window; row -1: none.
struct Chunk {
  int64_t row;
  int64_t begin, end;
};

__device__ inline int64_t row_of_entry(const int64_t* offsets, int64_t rows, int64_t entry) {
  int64_t low = 0, high = rows;  // offsets[low] <= entry < offsets[high]
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (offsets[middle] <= entry ? low : high) = middle;
  }
  return low;
}

// By whole blocks: the rows that the first and the last entry of a window are of, shared by the block.
__device__ inline const int64_t* rows_at_ends(const Chunks& chunks, const int64_t* offsets, int64_t rows,
                                              int64_t window) {
  __shared__ int64_t row_at[2];
  const int64_t first = window * chunks.chunk;
  const int64_t last = std::min(offsets[rows], first + chunks.chunk) - 1;
  if (threadIdx.x % kWarp == 0 && threadIdx.x / kWarp < 2)
    row_at[threadIdx.x / kWarp] = row_of_entry(offsets, rows, threadIdx.x == 0 ? first : last);
  __syncthreads();
  return row_at;
}

// The chunk on one side, 0 or 1, of a window.
__device__ inline Chunk chunk_of(const Chunks& chunks, const int64_t* offsets, const int64_t* row_at,
                                 int64_t window, int side) {
  const int64_t row = row_at[side];
  const int64_t start = offsets[row], end = offsets[row + 1], first = window * chunks.chunk;
  const int64_t begin = start + blocks_for(std::max<int64_t>(first - start, 0), chunks.chunk) * chunks.chunk;
  const bool is_own = end - start > chunks.chunk && begin < std::min(end, first + chunks.chunk) &&
                      (side == 0 || row != row_at[0]);
  return {is_own ? row : -1, begin, std::min(end, begin + chunks.chunk)};
}

// Entries is what gives offsets, rows, source(k) and value(k).
template <class T, class Entries, int kVector, int kPacks>
struct RowSums {
  static constexpr int kThreads = kTeamThreads;
  static constexpr int kNumbers = kVector * kPacks;
  Entries entries;
  const T* dense;
  int64_t width;
  T* result;
  DeviceUpdate<T> update;
  T* partial;  // [2 windows, width]
  Chunks chunks;
  RowSplit rows;
  int lanes;
  int tiles;

  __device__ void operator()() const {
    const int64_t block = blockIdx.x / static_cast<unsigned>(tiles);
    if (block < chunks.windows) {
      sum_chunks(block);
      return;
    }
    const auto length = [&](int64_t row) { return entries.offsets[row + 1] - entries.offsets[row]; };
    for_rows_of_block(rows, block - chunks.windows, entries.rows, chunks.chunk, length,
                      [&](const auto& team, int64_t row) {
                        T sums[kNumbers] = {};
                        int64_t begin = 0, end = 0;
                        if (row >= 0) {
                          begin = entries.offsets[row];
                          end = entries.offsets[row + 1];
                        }
                        sum_entries(team, begin, end, sums);
                        if (row >= 0 && team.rank < lanes) finish(row, sums);
                      });
  }

  // For RowSumsOfChunks.
  __device__ void add_chunks(int64_t window) const {
    const int64_t* row_at = rows_at_ends(chunks, entries.offsets, entries.rows, window);
    for (int side = 0; side < 2; ++side) {
      const Chunk chunk = chunk_of(chunks, entries.offsets, row_at, window, side);
      if (chunk.row < 0 || chunk.begin != entries.offsets[chunk.row]) continue;
      if (static_cast<int>(threadIdx.x) >= lanes) continue;
      const int64_t count = blocks_for(entries.offsets[chunk.row + 1] - chunk.begin, chunks.chunk);
      T sums[kNumbers] = {};
      for (int64_t k = 0; k < count; ++k) {
        const T* from = partial + (2 * (window + k) + (k == 0 ? side : 0)) * width;
        for_packs([&](int p, int64_t column) {
          const Pack<T, kVector> pack = load_pack<T, kVector>(from + column);
          for (int v = 0; v < kVector; ++v) sums[p * kVector + v] += pack.at[v];
        });
      }
      finish(chunk.row, sums);
    }
  }

 private:
  // body(p, column) for the packs of this thread.
  template <class Body>
  __device__ void for_packs(const Body& body) const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int64_t first =
        int64_t{blockIdx.x % static_cast<unsigned>(tiles)} * lanes * kPacks * kVector + lane * kVector;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t column = first + int64_t{p} * lanes * kVector;
      if (column < width) body(p, column);
    }
  }

  // The members with rank % lanes equal have the same columns and share the entries.
  template <class Team>
  __device__ void sum_entries(const Team& team, int64_t begin, int64_t end, T (&sums)[kNumbers]) const {
    constexpr int kAtOnce = Team::kIsBlock && kNumbers * sizeof(T) <= 8 ? 8 : 4;
    const int64_t stride = team.size / lanes;
    for (int64_t k = begin + team.rank / lanes; k < end; k += kAtOnce * stride) {
      const T* from[kAtOnce];
      T value[kAtOnce];
      Pack<T, kVector> packs[kAtOnce][kPacks];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int64_t at = k + u * stride;
        from[u] = at < end ? dense + entries.source(at) * width : nullptr;
        value[u] = at < end ? entries.value(at) : T(0);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
#pragma unroll
        for (int p = 0; p < kPacks; ++p) packs[u][p] = {};
        if (from[u] == nullptr) continue;
        for_packs([&](int p, int64_t column) { packs[u][p] = load_pack<T, kVector>(from[u] + column); });
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) sums[n] += value[u] * packs[u][n / kVector].at[n % kVector];
      }
    }
    team.combine(sums, lanes, Add{});
  }

  __device__ void sum_chunks(int64_t window) const {
    const int64_t* row_at = rows_at_ends(chunks, entries.offsets, entries.rows, window);
    for (int side = 0; side < 2; ++side) {
      const Chunk chunk = chunk_of(chunks, entries.offsets, row_at, window, side);
      if (chunk.row < 0) continue;
      T sums[kNumbers] = {};
      sum_entries(BlockTeam{static_cast<int>(threadIdx.x)}, chunk.begin, chunk.end, sums);
      if (static_cast<int>(threadIdx.x) >= lanes) continue;
      for_packs([&](int p, int64_t column) {
        store_pack<T, kVector>(partial + (2 * window + side) * width + column, &sums[p * kVector]);
      });
    }
  }

  __device__ void finish(int64_t row, T (&sums)[kNumbers]) const {
    const UpdateScales<T> scales(update);
    for_packs([&](int p, int64_t column) {
      store_updated<T, kVector>(update, scales, result, row * width + column, &sums[p * kVector]);
    });
  }
};

template <class T, class Entries, int kVector, int kPacks>
struct RowSumsOfChunks {
  static constexpr int kThreads = kTeamThreads;
  RowSums<T, Entries, kVector, kPacks> sums;

  __device__ void operator()() const { sums.add_chunks(blockIdx.x / static_cast<unsigned>(sums.tiles)); }
};

// partial has row_sums_scratch numbers.
inline int64_t row_sums_scratch(int64_t entries, int64_t width) {
  return 2 * chunks_of(entries).windows * width;
}

template <class T, class Entries>
void row_sums(const Entries& entries, int64_t count, const T* dense, int64_t width, T* result,
              const DeviceUpdate<T>& update, T* partial, Stream stream) {
  constexpr int kWide = kWideVector<T>;
  bool wide = width % kWide == 0;
  const void* pointers[] = {dense,        result,       update.first, update.second,
                            update.total, update.start, update.copy,  partial};
  for (const void* pointer : pointers) wide = wide && is_aligned(pointer);
  if (count < kEntriesForWindows) {
    window_sums(entries, count, dense, width, result, update, wide, stream);
    return;
  }
  const ColumnSplit columns = split_columns(width, wide ? kWide : 1);
  const RowSplit rows = split_rows(entries.rows, count, columns.lanes);
  const Chunks chunks = chunks_of(count);
  const auto run = [&]<int kVector, int kPacks>() {
    const RowSums<T, Entries, kVector, kPacks> task{entries, dense,  width, result,        update,
                                                    partial, chunks, rows,  columns.lanes, columns.tiles};
    launch(task, (chunks.windows + rows.blocks(entries.rows)) * columns.tiles, stream);
    launch(RowSumsOfChunks<T, Entries, kVector, kPacks>{task}, chunks.windows * columns.tiles, stream);
  };
  if (wide) {
    columns.packs == 1 ? run.template operator()<kWide, 1>() : run.template operator()<kWide, 3>();
  } else if (columns.packs == 1) {
    run.template operator()<1, 1>();
  } else {
    columns.packs == 2 ? run.template operator()<1, 2>() : run.template operator()<1, 3>();
  }
}

}  // namespace qw::kernels
