// Sums over the rows of a matrix, on the GPU: columns side by side in a block, its other threads along rows.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/feature_norm.h"
#include "kernels/launch.cuh"

namespace qw::kernels::feature_norm {

constexpr int kColumnThreads = 512;
constexpr int kRowsTogether = 4;  // of a thread, loaded together

// Of a launch that sums.
inline int64_t sum_blocks() { return 2 * processors(); }

inline int32_t lanes_for(int64_t count) {
  return static_cast<int32_t>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(count, 1, kWarp))));
}

// Which columns and rows a block has. Depends on the shape and the device only.
struct ColumnBlocks {
  int64_t rows;
  int64_t width;
  int64_t rows_per_block;
  int32_t lanes;  // columns of a block, a power of two
  int32_t tiles;  // of columns
  int32_t row_blocks;

  ColumnBlocks(int64_t rows_, int64_t width_) : rows(rows_), width(width_) {
    lanes = lanes_for(width);
    tiles = static_cast<int32_t>(blocks_for(width, lanes));
    const int64_t most = std::max<int64_t>(32, sum_blocks() / std::max(tiles, 1));
    rows_per_block = std::max<int64_t>(blocks_for(rows, most), kColumnThreads / lanes);
    row_blocks = static_cast<int32_t>(std::max<int64_t>(1, blocks_for(rows, rows_per_block)));
  }
  int64_t count() const { return int64_t{row_blocks} * tiles; }
};

// What a thread has of them.
struct ColumnThread {
  int64_t column;
  bool has_column;
  int along;  // rows, or blocks of rows: it has every `step`-th from `along`
  int step;
  int32_t block;  // of rows
  int64_t begin;
  int64_t end;

  __device__ explicit ColumnThread(const ColumnBlocks& blocks) {
    const auto thread = static_cast<int>(threadIdx.x);
    block = static_cast<int32_t>(blockIdx.x % blocks.row_blocks);
    column = static_cast<int64_t>(blockIdx.x / blocks.row_blocks) * blocks.lanes + thread % blocks.lanes;
    has_column = column < blocks.width;
    along = thread / blocks.lanes;
    step = kColumnThreads / blocks.lanes;
    begin = block * blocks.rows_per_block;
    end = begin + blocks.rows_per_block < blocks.rows ? begin + blocks.rows_per_block : blocks.rows;
  }
};

struct TwoTotals {
  double first;
  double second;
};

// Over the threads of a column, for each of them.
__device__ inline TwoTotals column_totals(TwoTotals own, int lanes) {
  __shared__ TwoTotals totals[kColumnThreads];
  const auto thread = static_cast<int>(threadIdx.x);
  totals[thread] = own;
  __syncthreads();
  for (int half = kColumnThreads / 2; half >= lanes; half /= 2) {
    if (thread < half) {
      totals[thread].first += totals[thread + half].first;
      totals[thread].second += totals[thread + half].second;
    }
    __syncthreads();
  }
  const TwoTotals result = totals[thread % lanes];
  __syncthreads();
  return result;
}

// sums [blocks, 2, width] over the blocks, by column.
__device__ inline TwoTotals totals_of_blocks(const double* sums, int64_t blocks, int64_t width,
                                             const ColumnThread& at, int lanes) {
  TwoTotals own{0, 0};
  if (at.has_column) {
#pragma unroll 4
    for (int64_t block = at.along; block < blocks; block += at.step) {
      own.first += sums[2 * block * width + at.column];
      own.second += sums[(2 * block + 1) * width + at.column];
    }
  }
  return column_totals(own, lanes);
}

// Into sums [blocks, 2, width] by block of rows: g, and g (x - mean) by column or g h by row.
template <class T, bool kByRow>
struct GradientSums {
  static constexpr int kThreads = kColumnThreads;
  Normed<T> n;
  const T* gradient;
  double* sums;
  ColumnBlocks blocks;

  __device__ void operator()() const {
    const ColumnThread at(blocks);
    TwoTotals own{0, 0};
    if (at.has_column) {
      const double mean = kByRow ? 0.0 : n.mean[at.column];
      for (int64_t row = at.begin + at.along; row < at.end; row += kRowsTogether * at.step)
        add(at, row, mean, own);
    }
    const TwoTotals all = column_totals(own, blocks.lanes);
    if (!at.has_column || at.along != 0) return;
    sums[2 * at.block * n.width + at.column] = all.first;
    sums[(2 * at.block + 1) * n.width + at.column] = all.second;
  }

 private:
  __device__ void add(const ColumnThread& at, int64_t row, double mean, TwoTotals& own) const {
    T g[kRowsTogether], x[kRowsTogether];
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const int64_t now = row + u * at.step;
      g[u] = now < at.end ? gradient[now * n.width + at.column] : T{0};
      x[u] = now < at.end ? n.x[now * n.width + at.column] : T{0};
    }
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const int64_t now = row + u * at.step;
      if (now >= at.end) break;
      own.first += double{g[u]};
      if constexpr (kByRow) {
        own.second += double{g[u]} * ((double{x[u]} - n.mean[now]) * n.inverse[now]);
      } else {
        own.second += double{g[u]} * (double{x[u]} - mean);
      }
    }
  }
};

}  // namespace qw::kernels::feature_norm
