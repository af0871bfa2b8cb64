// A tile of a product of matrices, by one block: parts of both matrices are brought into shared memory while
// those before them are multiplied, each thread with a small tile of its own in registers.
#pragma once

#include <type_traits>

#include "kernels/dense_linear.h"
#include "kernels/quads.cuh"

namespace qw::kernels {

// Sizes of a block's tile, the depth of what is in shared memory at a time, the tile of a thread, and groups
// of threads that share the depth out where there would be too few threads otherwise.
template <int kRows_, int kColumns_, int kDepth_, int kThreadRows_, int kThreadColumns_, int kGroups_>
struct TileShape {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = kDepth_;
  static constexpr int kThreadRows = kThreadRows_, kThreadColumns = kThreadColumns_, kGroups = kGroups_;
  static constexpr int kGroupThreads = kRows / kThreadRows * (kColumns / kThreadColumns);
  static constexpr int kThreads = kGroupThreads * kGroups;
  static_assert(kThreadRows % 4 == 0 && kThreadColumns % 4 == 0 && kDepth % (4 * kGroups) == 0);
};

__device__ inline void shared_quad(const float* from, float* to) {
  const float4 all = *reinterpret_cast<const float4*>(from);
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}
__device__ inline void shared_quad(const double* from, double* to) {
  const double2 low = *reinterpret_cast<const double2*>(from);
  const double2 high = *reinterpret_cast<const double2*>(from + 2);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = high.x;
  to[3] = high.y;
}

template <class T, class Shape, bool kTransposed>
struct ProductTile {
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kRows = Shape::kRows, kColumns = Shape::kColumns, kDepth = Shape::kDepth;
  static constexpr int kThreadRows = Shape::kThreadRows, kThreadColumns = Shape::kThreadColumns;
  static constexpr int kLeftQuads = kRows * kDepth / 4 / kThreads;
  static constexpr int kRights = kColumns * kDepth / kThreads;
  static_assert(kLeftQuads * 4 * kThreads == kRows * kDepth && kRights * kThreads == kColumns * kDepth);
  static constexpr int kPad = 4;  // keeps rows of shared memory aligned, and spreads columns over its banks
  static constexpr int kLeftStep = kRows + kPad, kRightStep = kColumns + kPad;
  static constexpr int kLeftSize = kDepth * kLeftStep, kRightSize = kDepth * kRightStep;
  static constexpr int kShared = 2 * (kLeftSize + kRightSize);
  static_assert(Shape::kGroups == 1 || Shape::kGroups * kRows * kColumns <= kShared);
  static_assert(kShared * sizeof(T) <= 48 << 10);

  ProductView<T> view;
  int64_t depth_per_chunk;
  uint32_t row_tiles, column_tiles;
  bool left_by_quads, result_by_quads;
  T* result;  // [chunks, rows, columns]

  struct Fetched {
    T left[kLeftQuads][4];
    T right[kRights];
  };
  struct Place {  // of a thread's tile in the block's
    int row, column, group;
  };

  __device__ void operator()() const {
    alignas(16) __shared__ T shared[kShared];
    T* const lefts = shared;
    T* const rights = shared + 2 * kLeftSize;
    const int64_t column = int64_t{blockIdx.x % column_tiles} * kColumns;
    const int64_t row = int64_t{blockIdx.x / column_tiles % row_tiles} * kRows;
    const int64_t chunk = blockIdx.x / column_tiles / row_tiles;
    const int64_t begin = chunk * depth_per_chunk;
    const int64_t end = begin + depth_per_chunk < view.depth ? begin + depth_per_chunk : view.depth;
    const Place place = own_place();
    T sums[kThreadRows][kThreadColumns] = {};
    Source source = source_at(row, column, begin);
    const int rows = at_most(view.rows - row, kRows), columns = at_most(view.columns - column, kColumns);
    Fetched fetched;
    fetch(source, rows, columns, at_most(end - begin, kDepth), fetched);
    keep(source, fetched, lefts, rights);
    __syncthreads();
    int now = 0;
    for (int64_t k = begin + kDepth; k < end + kDepth; k += kDepth) {
      if (k < end) {
        source.left += kTransposed ? kDepth * view.left_stride : kDepth;
        source.right += kDepth * view.right_row_stride;
        fetch(source, rows, columns, at_most(end - k, kDepth), fetched);
      }
      multiply(lefts + now * kLeftSize, rights + now * kRightSize, place, sums);
      now = 1 - now;
      if (k < end) keep(source, fetched, lefts + now * kLeftSize, rights + now * kRightSize);
      __syncthreads();
    }
    T* to = result + chunk * view.rows * view.columns;
    if constexpr (Shape::kGroups == 1) {
      store(sums, place, row, column, to);
    } else {
      store_groups(sums, place, row, column, shared, to);
    }
  }

  __device__ static int at_most(int64_t left, int most) {
    return left < most ? static_cast<int>(left) : most;
  }

  // A warp is 8 threads wide where it can be, so that its threads share what they read.
  __device__ static Place own_place() {
    constexpr int kWide = kColumns / kThreadColumns;
    constexpr int kLaneColumns = kWide < 8 ? kWide : 8;
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroupThreads;
    const int lane = thread % kWarp, warp = thread / kWarp;
    return {lane / kLaneColumns + kWarp / kLaneColumns * (warp / (kWide / kLaneColumns)),
            lane % kLaneColumns + kLaneColumns * (warp % (kWide / kLaneColumns)),
            static_cast<int>(threadIdx.x) / Shape::kGroupThreads};
  }

  // Where this thread brings elements from: of the first, and how far it is to the next.
  struct Source {
    const T* left;
    int left_row, left_depth;  // in the tile
    const T* right;
    int64_t right_jump;
    int right_depth, right_column, depth_jump, column_jump;
  };

  // From a thread's first quad of the left tile to its j-th. Quads go along the left's memory; four of a row
  // make whole sectors.
  static constexpr int kLeftWide = kTransposed   ? kRows / 4
                                   : kDepth < 16 ? kDepth / 4
                                                 : 4;  // quads side by side
  static constexpr int kLeftHigh = kTransposed ? kDepth : kRows;
  static_assert(kThreads % kLeftWide == 0 &&
                (kLeftHigh % (kThreads / kLeftWide) == 0 || kThreads / kLeftWide % kLeftHigh == 0));
  static_assert(kThreads % kColumns == 0 && kThreads % kDepth == 0);
  __device__ static constexpr int left_line(int j) { return j * (kThreads / kLeftWide) % kLeftHigh; }
  __device__ static constexpr int left_along(int j) {
    return j * (kThreads / kLeftWide) / kLeftHigh * kLeftWide * 4;
  }

  __device__ Source source_at(int64_t row, int64_t column, int64_t from) const {
    const int thread = static_cast<int>(threadIdx.x);
    const int line = thread / kLeftWide % kLeftHigh;
    const int along = 4 * (thread % kLeftWide + thread / (kLeftWide * kLeftHigh) * kLeftWide);
    Source s;
    s.left_row = kTransposed ? along : line;
    s.left_depth = kTransposed ? line : along;
    s.left = view.left + (kTransposed ? (from + line) * view.left_stride + row + along
                                      : (row + line) * view.left_stride + from + along);
    // Neighbours bring what lies side by side in memory.
    const bool by_rows = kTransposed || view.right_column_stride == 1;
    s.right_depth = by_rows ? thread / kColumns : thread % kDepth;
    s.right_column = by_rows ? thread % kColumns : thread / kDepth;
    s.depth_jump = by_rows ? kThreads / kColumns : 0;
    s.column_jump = by_rows ? 0 : kThreads / kDepth;
    s.right = view.right + (from + s.right_depth) * view.right_row_stride +
              (column + s.right_column) * view.right_column_stride;
    s.right_jump = by_rows ? s.depth_jump * view.right_row_stride : s.column_jump * view.right_column_stride;
    return s;
  }

  // `rows`, `columns` and `depth` are left from the tile's begin on; what lies outside of the matrices is 0.
  __device__ void fetch(const Source& s, int rows, int columns, int depth, Fetched& fetched) const {
#pragma unroll
    for (int j = 0; j < kLeftQuads; ++j) {
      const T* place = s.left + left_line(j) * view.left_stride + left_along(j);
      const int lines = kTransposed ? depth - s.left_depth : rows - s.left_row;
      const int count = kTransposed ? rows - s.left_row : depth - s.left_depth;
      const int inside = left_line(j) < lines ? count - left_along(j) : 0;
      if (left_by_quads && inside >= 4) {
        reload_quad(place, fetched.left[j]);
      } else {
        load_singly(place, inside, fetched.left[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < kRights; ++j) {
      const bool inside =
          s.right_depth + j * s.depth_jump < depth && s.right_column + j * s.column_jump < columns;
      fetched.right[j] = inside ? __ldg(s.right + j * s.right_jump) : T{0};
    }
  }

  __device__ static void keep(const Source& s, const Fetched& fetched, T* lefts, T* rights) {
    T* left = lefts + s.left_depth * kLeftStep + s.left_row;
#pragma unroll
    for (int j = 0; j < kLeftQuads; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        left[kTransposed ? left_line(j) * kLeftStep + left_along(j) + k
                         : (left_along(j) + k) * kLeftStep + left_line(j)] = fetched.left[j][k];
      }
    }
    T* right = rights + s.right_depth * kRightStep + s.right_column;
    const int jump = s.depth_jump * kRightStep + s.column_jump;
#pragma unroll
    for (int j = 0; j < kRights; ++j) right[j * jump] = fetched.right[j];
  }

  // Quad q of a thread's rows begins here in the block's tile: quads of all threads interleave.
  __device__ static int row_of(const Place& place, int q) {
    return 4 * (q * (kRows / kThreadRows) + place.row);
  }
  __device__ static int column_of(const Place& place, int q) {
    return 4 * (q * (kColumns / kThreadColumns) + place.column);
  }

  __device__ static void multiply(const T* lefts, const T* rights, const Place& place,
                                  T (&sums)[kThreadRows][kThreadColumns]) {
    constexpr int kSteps = kDepth / Shape::kGroups;
    const T* left = lefts + place.group * kSteps * kLeftStep;
    const T* right = rights + place.group * kSteps * kRightStep;
#pragma unroll 4  // more would be paid for with registers
    for (int k = 0; k < kSteps; ++k) {
      T a[kThreadRows], b[kThreadColumns];
#pragma unroll
      for (int q = 0; q < kThreadRows / 4; ++q)
        shared_quad(left + k * kLeftStep + row_of(place, q), a + 4 * q);
#pragma unroll
      for (int q = 0; q < kThreadColumns / 4; ++q) {
        shared_quad(right + k * kRightStep + column_of(place, q), b + 4 * q);
      }
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadColumns; ++j) sums[i][j] += a[i] * b[j];
      }
    }
  }

  __device__ void store(const T (&sums)[kThreadRows][kThreadColumns], const Place& place, int64_t row,
                        int64_t column, T* to) const {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const int64_t r = row + row_of(place, i / 4) + i % 4;
      if (r >= view.rows) continue;
#pragma unroll
      for (int q = 0; q < kThreadColumns / 4; ++q) {
        const int64_t c = column + column_of(place, q);
        const T four[4] = {sums[i][4 * q], sums[i][4 * q + 1], sums[i][4 * q + 2], sums[i][4 * q + 3]};
        T* out = to + r * view.columns + c;
        if (result_by_quads && c + 4 <= view.columns) {
          store_quad(out, four);
        } else {
          store_singly(out, view.columns - c, four);
        }
      }
    }
  }

  // The groups' sums meet in shared memory and are added up in order.
  __device__ void store_groups(const T (&sums)[kThreadRows][kThreadColumns], const Place& place, int64_t row,
                               int64_t column, T* shared, T* to) const {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadColumns; ++j) {
        const int at = (row_of(place, i / 4) + i % 4) * kColumns + column_of(place, j / 4) + j % 4;
        shared[place.group * kRows * kColumns + at] = sums[i][j];
      }
    }
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < kRows * kColumns; at += kThreads) {
      T sum = shared[at];
      for (int group = 1; group < Shape::kGroups; ++group) sum += shared[group * kRows * kColumns + at];
      const int64_t r = row + at / kColumns, c = column + at % kColumns;
      if (r < view.rows && c < view.columns) to[r * view.columns + c] = sum;
    }
  }
};

}  // namespace qw::kernels
