// result[i, :] = sum over the entries k of row i of value(k) * dense[source(k), :], for a sparse matrix given
// by its entries: what spmm and incidence have in common. The entries, not the rows, are dealt out evenly.
//
// A block owns the rows that begin in its window of entries, in one go up to kRowsAtOnce of them; their
// entries are divided into runs of equal length, one for each group of lanes. A row that is whole in a run is
// finished there; the parts of the others meet in shared memory. So a hub is the work of a block, and short
// rows wait for nobody.
#pragma once

#include <initializer_list>

#include "kernels/row_packs.cuh"

namespace qw::kernels {

constexpr int kWindowThreads = 256;
constexpr int kRowsAtOnce = 512;
constexpr int64_t kSmallMatrix = 1 << 17;  // entries
// From as many entries on narrow rows have few lanes with several numbers each. Ten columns of 505,000
// entries: 26 us, and 161 for ten trainings, where a lane for each column takes 57 and 333. Below that a
// training alone is faster with many lanes.
constexpr int64_t kFewLanesFrom = 1 << 15;

// The first row in [0, rows] whose offset is at least `entry`; by whole warps, 32 rows at a time.
__device__ inline int64_t first_row_from(const int64_t* offsets, int64_t rows, int64_t entry) {
  int64_t low = 0, high = rows;  // offsets[high] >= entry, or high == rows
  while (high > low) {
    const int64_t step = (high - low + kWarp - 1) / kWarp;
    const int64_t at = low + (threadIdx.x % kWarp) * step;
    const unsigned below = __ballot_sync(kWholeWarp, at < high && offsets[at] < entry ? 1 : 0);
    const int count = __popc(below);  // they come first
    const int64_t last_below = low + (count - 1) * step;
    high = count == 0 ? low : (count == kWarp || low + count * step > high ? high : low + count * step);
    low = count == 0 ? low : last_below + 1;
  }
  return low;
}

template <class T, class Entries, int kVector, int kPacks, int kLanes>
struct WindowSums {
  static constexpr int kThreads = kWindowThreads;
  static constexpr bool kTogether = kLanes == kWarp;  // a group is a warp, whose lanes share the reading
  static constexpr int kBlocksAtOnce = kVector * kPacks <= 4 ? 4 : kTogether ? 3 : 0;
  static constexpr int kGroups = kThreads / kLanes;
  static constexpr int kNumbers = kVector * kPacks;
  static constexpr int kAtOnce = 4;
  static constexpr int kColumns = kLanes * kNumbers;  // of a tile
  Entries entries;
  const T* dense;
  int32_t width;
  T* result;
  DeviceUpdate<T> update;
  bool updates;    // `update` is something
  int64_t window;  // entries
  uint32_t tiles;

  // What the groups leave for each other: a part of the row that came from the group before, and one of the
  // row that goes on in the next.
  struct Shared {
    int64_t row_of_window[2];
    int64_t offsets[kRowsAtOnce + 1];
    T head[kGroups][kColumns];
    T tail[kGroups][kColumns];
    int tail_row[kGroups];  // or -1
  };

  __device__ void operator()() const {
    __shared__ Shared shared;
    const int64_t first = int64_t{tiles == 1 ? blockIdx.x : blockIdx.x / tiles} * window;
    const int32_t column = first_column();
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    if (warp < 2) {
      const bool whole = warp == 1 && first + window >= entries.offsets[entries.rows];
      const int64_t row =
          whole ? entries.rows : first_row_from(entries.offsets, entries.rows, first + warp * window);
      if (threadIdx.x % kWarp == 0) shared.row_of_window[warp] = row;
    }
    __syncthreads();
    const int64_t end = shared.row_of_window[1];
    for (int64_t row = shared.row_of_window[0]; row < end; row += kRowsAtOnce) {
      sum_rows(shared, column, row, static_cast<int>(end - row < kRowsAtOnce ? end - row : kRowsAtOnce));
    }
  }

 private:
  __device__ int group() const { return static_cast<int>(threadIdx.x) / kLanes; }
  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kLanes; }
  // The lane's first; the others are kApart after each other.
  static constexpr int kApart = kLanes * kVector;
  __device__ int32_t first_column() const {
    const int32_t tile = tiles == 1 ? 0 : static_cast<int32_t>(blockIdx.x % tiles);
    return tile * kColumns + lane() * kVector;
  }

  __device__ void sum_rows(Shared& shared, int32_t column, int64_t first_row, int rows) const {
    for (int i = static_cast<int>(threadIdx.x); i <= rows; i += kThreads)
      shared.offsets[i] = entries.offsets[first_row + i];
    if (lane() == 0) shared.tail_row[group()] = -1;
    __syncthreads();
    const int64_t begin = shared.offsets[0];
    const int64_t run = (shared.offsets[rows] - begin + kGroups - 1) / kGroups;
    if constexpr (kTogether) {
      sum_run_together(shared, column, first_row, rows, begin + group() * run, run);
    } else {
      sum_run(shared, column, first_row, rows, begin + group() * run, run);
    }
    for (int i = group(); i < rows; i += kGroups) {
      if (shared.offsets[i] != shared.offsets[i + 1]) continue;
      T none[kNumbers] = {};
      finish(column, first_row + i, none);
    }
    __syncthreads();
    join(shared, column, first_row, begin, run);
    __syncthreads();
  }

  // The row in shared memory that has an entry.
  __device__ static int row_with(const Shared& shared, int rows, int64_t entry) {
    int low = 0, high = rows;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (shared.offsets[middle] <= entry ? low : high) = middle;
    }
    return low;
  }

  __device__ void sum_run(Shared& shared, int32_t column, int64_t first_row, int rows, int64_t begin,
                          int64_t run) const {
    const int64_t last = shared.offsets[rows];
    const int64_t end = begin + run < last ? begin + run : last;
    if (begin >= end) return;
    int row = row_with(shared, rows, begin);
    T sums[kNumbers] = {};
    for (int64_t k = begin; k < end; k += kAtOnce) {
      Pack<T, kVector> packs[kAtOnce][kPacks];
      T value[kAtOnce];
      load(column, k, end, packs, value);
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (k + u >= end) break;
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) sums[n] += value[u] * packs[u][n / kVector].at[n % kVector];
        if (k + u + 1 < shared.offsets[row + 1]) continue;
        leave(shared, column, first_row, row, begin, sums);
        row = next_row(shared, rows, row);
      }
    }
    hand_on(shared, rows, row, begin, end, sums);
  }

  // As sum_run, by a whole warp. Its lanes read an entry each and hand them round, so that what one reads and
  // reckons serves all; and entries that are zero, every second feature after dropout, cost next to nothing.
  __device__ void sum_run_together(Shared& shared, int32_t column, int64_t first_row, int rows, int64_t begin,
                                   int64_t run) const {
    const int64_t last = shared.offsets[rows];
    const int64_t end = begin + run < last ? begin + run : last;
    if (begin >= end) return;
    int row = row_with(shared, rows, begin);
    T sums[kNumbers] = {};
    for (int64_t first = begin; first < end; first += kWarp) {
      const int count = static_cast<int>(end - first < kWarp ? end - first : kWarp);
      const int64_t entry[1] = {first + (lane() < count ? lane() : count - 1)};
      typename Entries::Source source[1];
      T value[1];
      entries.read(entry, source, value);
      unsigned left = __ballot_sync(kWholeWarp, lane() < count && value[0] != 0);
      for (int row_end = end_within(shared, row, first);;) {
        unsigned of_row = row_end < kWarp ? left & ((1u << row_end) - 1) : left;
        left &= ~of_row;
        while (of_row != 0) add_entries(of_row, column, source[0], value[0], sums);
        if (row_end > count) break;
        leave(shared, column, first_row, row, begin, sums);
        row = next_row(shared, rows, row);
        if (row == rows) break;
        row_end = end_within(shared, row, first);
      }
    }
    hand_on(shared, rows, row, begin, end, sums);
  }

  // The next kAtOnce of the entries that are `left` of those that the lanes have, all of one row.
  __device__ void add_entries(unsigned& left, int32_t column, typename Entries::Source source, T value,
                              T (&sums)[kNumbers]) const {
    T factor[kAtOnce];
    Pack<T, kVector> packs[kAtOnce][kPacks];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int at = __ffs(static_cast<int>(left)) - 1;  // -1: there are no more
      left &= left - 1;
      factor[u] = __shfl_sync(kWholeWarp, value, at & (kWarp - 1));
      load_row(column, at >= 0, __shfl_sync(kWholeWarp, source, at & (kWarp - 1)), packs[u]);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
#pragma unroll
      for (int n = 0; n < kNumbers; ++n) sums[n] += factor[u] * packs[u][n / kVector].at[n % kVector];
    }
  }

  // Where a row ends, counted from the entry `first`.
  __device__ static int end_within(const Shared& shared, int row, int64_t first) {
    const int64_t end = shared.offsets[row + 1] - first;
    return static_cast<int>(end < INT32_MAX ? end : INT32_MAX);
  }

  // That has entries.
  __device__ static int next_row(const Shared& shared, int rows, int row) {
    do ++row;
    while (row < rows && shared.offsets[row + 1] == shared.offsets[row]);
    return row;
  }

  // What is left at the end of a run belongs to a row of which another group has the rest.
  __device__ void hand_on(Shared& shared, int rows, int row, int64_t begin, int64_t end,
                          const T (&sums)[kNumbers]) const {
    if (row >= rows || shared.offsets[row] >= end) return;
    const bool from_before = shared.offsets[row] < begin;
    put(from_before ? shared.head[group()] : shared.tail[group()], sums);
    if (!from_before && lane() == 0) shared.tail_row[group()] = row;
  }

  __device__ void load(int32_t column, int64_t k, int64_t end, Pack<T, kVector> (&packs)[kAtOnce][kPacks],
                       T (&value)[kAtOnce]) const {
    int64_t entry[kAtOnce];
    typename Entries::Source source[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) entry[u] = k + u < end ? k + u : end - 1;
    entries.read(entry, source, value);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) load_row(column, true, source[u], packs[u]);
  }

  __device__ void load_row(int32_t column, bool wanted, typename Entries::Source source,
                           Pack<T, kVector> (&packs)[kPacks]) const {
    const T* row = row_from(dense + column, source, width * static_cast<int32_t>(sizeof(T)));
    for_constants<kPacks>([&](auto p) {
      const bool inside = column + p * kApart < width;
      packs[p] = load_pack_if<T, kVector, p * kApart>(wanted & inside, row);
    });
  }

  // A row that ends here: finished, or its last part.
  __device__ void leave(Shared& shared, int32_t column, int64_t first_row, int row, int64_t begin,
                        T (&sums)[kNumbers]) const {
    if (shared.offsets[row] >= begin) {
      finish(column, first_row + row, sums);
    } else {
      put(shared.head[group()], sums);
    }
#pragma unroll
    for (int n = 0; n < kNumbers; ++n) sums[n] = T{0};
  }

  __device__ void put(T* to, const T (&sums)[kNumbers]) const {
#pragma unroll
    for (int n = 0; n < kNumbers; ++n) to[n * kLanes + lane()] = sums[n];
  }

  // The group in which a row began adds up what the groups after it had of the row.
  __device__ void join(const Shared& shared, int32_t column, int64_t first_row, int64_t begin,
                       int64_t run) const {
    const int row = shared.tail_row[group()];
    if (row < 0) return;
    T sums[kNumbers];
#pragma unroll
    for (int n = 0; n < kNumbers; ++n) sums[n] = shared.tail[group()][n * kLanes + lane()];
    const int64_t end = shared.offsets[row + 1];
    for (int other = group() + 1; other < kGroups && begin + other * run < end; ++other) {
#pragma unroll
      for (int n = 0; n < kNumbers; ++n) sums[n] += shared.head[other][n * kLanes + lane()];
    }
    finish(column, first_row + row, sums);
  }

  __device__ void finish(int32_t column, int64_t row, T (&sums)[kNumbers]) const {
    const int64_t at = row * width + column;
    if (!updates) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (column + p * kApart < width) store_pack<T, kVector>(result + at + p * kApart, &sums[p * kVector]);
      }
      return;
    }
    const UpdateScales<T> scales(update);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (column + p * kApart < width)
        store_updated<T, kVector>(update, scales, result, at + p * kApart, &sums[p * kVector]);
    }
  }
};

// Numbers that can be read at once everywhere in these arrays of `width` columns, null or not.
template <class T>
int widest_vector(int64_t width, std::initializer_list<const T*> arrays) {
  int vector = kWideVector<T>;
  for (const T* array : arrays) {
    while (width % vector != 0 || reinterpret_cast<uintptr_t>(array) % (vector * sizeof(T)) != 0) vector /= 2;
  }
  return vector;
}

// Entries is what has offsets and rows, and reads the source, of type Source, and the value of several
// entries at once.
template <class T, class Entries>
void window_sums(const Entries& entries, int64_t count, const T* dense, int64_t width, T* result,
                 const DeviceUpdate<T>& update, Stream stream) {
  if (entries.rows == 0 || width == 0) return;
  const auto run = [&]<int kVector, int kPacks, int kLanes>() {
    using Task = WindowSums<T, Entries, kVector, kPacks, kLanes>;
    // Of a small matrix one for each processor, since ten trainings may be launched together.
    const int64_t blocks = count < kSmallMatrix && kPacks * kLanes <= kWarp ? processors() : 2 * processors();
    const int64_t tiles = blocks_for(width, Task::kColumns);
    // Runs of 4 entries at least, and of 64 at most unless a row is longer.
    int64_t window =
        std::clamp<int64_t>(blocks_for(count * tiles, blocks), Task::kGroups * 4, Task::kGroups * 64);
    // Rows without entries count, too: none of a matrix of those alone may be one block's.
    window =
        std::max<int64_t>(1, std::min(window, blocks_for(count, blocks_for(entries.rows, 4 * kRowsAtOnce))));
    launch(Task{entries, dense, static_cast<int32_t>(width), result, update, !update.is_none(), window,
                static_cast<uint32_t>(tiles)},
           std::max<int64_t>(1, blocks_for(count, window)) * tiles, stream);
  };
  const auto run_few_lanes = [&]<int kVector>() {
    const int64_t packs = width / kVector;
    packs <= 4    ? run.template operator()<kVector, 1, 4>()
    : packs <= 8  ? run.template operator()<kVector, 2, 4>()
    : packs <= 12 ? run.template operator()<kVector, 3, 4>()
                  : run.template operator()<kVector, 4, 4>();
  };
  constexpr int kWide = kWideVector<T>;
  const int vector = widest_vector<T>(
      width, {dense, result, update.first, update.second, update.total, update.start, update.copy});
  if (vector == kWide) {
    const int64_t packs = width / kWide;
    packs <= 4    ? run.template operator()<kWide, 1, 4>()
    : packs <= 8  ? run.template operator()<kWide, 1, 8>()
    : packs <= 16 ? run.template operator()<kWide, 1, 16>()
    : packs <= 32 ? run.template operator()<kWide, 1, 32>()
                  : run.template operator()<kWide, 2, 32>();
  } else if (count >= kFewLanesFrom && width / vector <= 16) {
    vector == 2 ? run_few_lanes.template operator()<2>() : run_few_lanes.template operator()<1>();
  } else {
    width <= 4    ? run.template operator()<1, 1, 4>()
    : width <= 8  ? run.template operator()<1, 1, 8>()
    : width <= 16 ? run.template operator()<1, 1, 16>()
    : width <= 32 ? run.template operator()<1, 1, 32>()
    : width <= 48 ? run.template operator()<1, 3, 16>()
                  : run.template operator()<1, 2, 32>();
  }
}

}  // namespace qw::kernels
