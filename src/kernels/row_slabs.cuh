// A sparse product whose dense matrix has few rows that are read often, as the weights of a first layer: a
// block keeps a slab of it, all rows and a few columns, in shared memory, and sums rows of the result from
// there.
//
// Of 13,752 x 767 with 3.7 million entries times 64 columns: 62 us, and 611 for ten trainings, where
// gathering from the second-level cache (row_windows.cuh) takes 138 and 1,989. A slab has to be read much
// more often than it is filled: 49,000 entries on 1,433 rows gain with 512 columns and lose with 64.
#pragma once

#include "kernels/row_windows.cuh"

namespace qw::kernels {

// The lanes of a group have the slab's columns between them; a team of groups has a row, and each group takes
// every so many'th of its entries. Rows are dealt out to the parts and their teams in turn.
template <class T, int kLanes, int kTeam>
struct SlabSums {
  static constexpr int kThreads = 1024;
  static constexpr int kVector = kWideVector<T>;
  static constexpr int kColumns = kLanes * kVector;
  CsrView<T> matrix;
  const T* dense;
  int64_t sources;  // rows of dense
  int64_t width;
  T* result;
  DeviceUpdate<T> update;
  uint32_t tiles, parts;

  __device__ void operator()() const {
    T* const slab = dynamic_shared<T>();
    fill(slab);
    __syncthreads();
    const int64_t step = int64_t{parts} * (kThreads / kTeam);
    const int64_t own = int64_t{threadIdx.x / kTeam} * parts + blockIdx.x / tiles;
    for (int64_t first = 0; first < matrix.rows; first += step) {
      sum_row(slab, first + own < matrix.rows ? first + own : -1);
    }
  }

 private:
  struct Entry {
    int32_t source = 0;
    T value = 0;
  };

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  __device__ static int group() { return static_cast<int>(threadIdx.x) % kTeam / kLanes; }
  __device__ int64_t column() const { return int64_t{blockIdx.x % tiles} * kColumns + lane() * kVector; }

  __device__ void fill(T* slab) const {
    if (column() >= width) return;
    for (int64_t source = threadIdx.x / kLanes; source < sources; source += kThreads / kLanes) {
      const auto pack = load_pack<T, kVector>(dense + source * width + column());
      store_pack<T, kVector>(slab + source * kColumns + lane() * kVector, pack.at);
    }
  }

  __device__ Entry entry(int64_t k, int64_t end) const {
    if (k >= end) return {};
    return {matrix.columns[k], matrix.values[matrix.order == nullptr ? k : matrix.order[k]]};
  }

  // Whole warps go on until all of their teams are done: lanes hand entries to each other.
  __device__ void sum_row(const T* slab, int64_t row) const {
    const int64_t end = row < 0 ? 0 : matrix.offsets[row + 1];
    int64_t k = (row < 0 ? 0 : matrix.offsets[row]) + group() * kLanes;
    T sums[kVector] = {};
    Entry next = entry(k + lane(), end);
    for (; __any_sync(kWholeWarp, k < end) != 0; k += kTeam) {
      const Entry now = next;
      next = entry(k + kTeam + lane(), end);
      add_entries(slab, now, end - k, sums);
    }
#pragma unroll
    for (int other = kLanes; other < kTeam; other *= 2) {
#pragma unroll
      for (int v = 0; v < kVector; ++v) sums[v] += __shfl_xor_sync(kWholeWarp, sums[v], other);
    }
    if (row < 0 || group() != 0 || column() >= width) return;
    store_updated<T, kVector>(update, UpdateScales<T>(update), result, row * width + column(), sums);
  }

  // Every lane brings one of the group's entries; the first `left` of them are there.
  __device__ void add_entries(const T* slab, const Entry& own, int64_t left, T (&sums)[kVector]) const {
#pragma unroll
    for (int u = 0; u < kLanes; ++u) {
      const int32_t source = __shfl_sync(kWholeWarp, own.source, u, kLanes);
      const T value = __shfl_sync(kWholeWarp, own.value, u, kLanes);
      if (u >= left) continue;
      const auto pack = load_pack<T, kVector>(slab + int64_t{source} * kColumns + lane() * kVector);
#pragma unroll
      for (int v = 0; v < kVector; ++v) sums[v] += value * pack.at[v];
    }
  }
};

// Whether it pays, and then result = update(matrix * dense).
template <class T>
bool slab_sums(const CsrView<T>& matrix, int64_t count, const T* dense, int64_t sources, int64_t width,
               T* result, const DeviceUpdate<T>& update, Stream stream) {
  constexpr int64_t kReadsOfSlab = 2;  // of each of its rows, on average, at least
  constexpr int64_t kLongRow = 24;     // entries from which on several groups share a row
  const auto run = [&]<int kLanes, int kTeam>() {
    using Task = SlabSums<T, kLanes, kTeam>;
    const int64_t tiles = blocks_for(width, Task::kColumns);
    const int64_t parts = std::max<int64_t>(1, kProcessors / tiles);
    const int64_t bytes = sources * Task::kColumns * static_cast<int64_t>(sizeof(T));
    if (bytes > most_dynamic_shared() || count < parts * kReadsOfSlab * sources) return false;
    launch(Task{matrix, dense, sources, width, result, update, static_cast<uint32_t>(tiles),
                static_cast<uint32_t>(parts)},
           tiles * parts, stream, static_cast<size_t>(bytes));
    return true;
  };
  const int vector = widest_vector<T>(
      width, {dense, result, update.first, update.second, update.total, update.start, update.copy});
  if (vector != kWideVector<T> || width < 8 * vector || count == 0) return false;
  if (count < kLongRow * matrix.rows)
    return run.template operator()<8, 8>() || run.template operator()<4, 4>();
  return run.template operator()<8, 32>() || run.template operator()<4, 32>();
}

}  // namespace qw::kernels
