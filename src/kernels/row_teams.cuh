// Who works on a row of a sparse matrix: some lanes of a warp, or for a long row the whole block, chosen by
// the row's length inside the kernel, so that no plan of the matrix is needed. A team's sums have a fixed
// order.
#pragma once

#include <algorithm>

#include "kernels/launch.cuh"

namespace qw::kernels {

constexpr int kTeamThreads = 256;
constexpr int kTeamWarps = kTeamThreads / kWarp;

// How the rows of a matrix are given to teams: so many lanes for a row that is no longer than `longest`. With
// lanes == kTeamThreads and a longest of -1 every row has a block.
struct RowSplit {
  int lanes;
  int64_t longest;

  int64_t blocks(int64_t rows) const { return blocks_for(rows, kTeamThreads / lanes); }
};

// The split when `least` lanes, a power of two, share an entry. Few rows are spread thinly, since each then
// waits for memory alone; many hide each other's waiting, and long ones are long only beside them.
inline RowSplit split_rows(int64_t rows, int64_t entries, int least) {
  const int64_t average = rows == 0 ? 0 : entries / rows;
  const bool crowded = rows * least > 2 * threads_of_device();
  int parts = 1;
  while (least * parts < kWarp && average > (crowded ? 16 : 4) * parts) parts *= 2;
  const int64_t longest = int64_t{parts} * (crowded ? 256 : 32);
  if (average > 2 * longest) return {kTeamThreads, -1};
  return {least * parts, longest};
}

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

// Combines the values of those lanes of a warp whose numbers differ by multiples of `stride`, within `size`.
template <class T, int kCount, class Operation>
__device__ void combine_lanes(T (&values)[kCount], int size, int stride, Operation operation) {
  for (int step = size / 2; step >= stride; step /= 2) {
#pragma unroll
    for (int n = 0; n < kCount; ++n)
      values[n] = operation(values[n], __shfl_xor_sync(kWholeWarp, values[n], step));
  }
}

// The first `size` lanes, or the second, and so on, of a warp.
struct WarpTeam {
  static constexpr bool kIsBlock = false;
  int size;
  int rank;

  // Afterwards member r has what the members r % stride, r % stride + stride, ... had. By whole warps.
  template <class T, int kCount, class Operation>
  __device__ void combine(T (&values)[kCount], int stride, Operation operation) const {
    combine_lanes(values, size, stride, operation);
  }
};

struct BlockTeam {
  static constexpr bool kIsBlock = true;
  static constexpr int size = kTeamThreads;
  int rank;

  template <class T, int kCount, class Operation>
  __device__ void combine(T (&values)[kCount], int stride, Operation operation) const {
    __shared__ T of_warp[kCount][kTeamWarps][kWarp];
    combine_lanes(values, kWarp, stride, operation);
    const int lane = rank % kWarp;
    __syncthreads();  // nobody still reads an earlier result
    if (lane < stride) {
#pragma unroll
      for (int n = 0; n < kCount; ++n) of_warp[n][rank / kWarp][lane] = values[n];
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < kCount; ++n) {
      values[n] = of_warp[n][0][lane % stride];
#pragma unroll
      for (int warp = 1; warp < kTeamWarps; ++warp)
        values[n] = operation(values[n], of_warp[n][warp][lane % stride]);
    }
  }
};

template <class T, class Team>
__device__ T team_sum(const Team& team, T value) {
  T values[1] = {value};
  team.combine(values, 1, Add{});
  return values[0];
}
template <class T, class Team>
__device__ T team_maximum(const Team& team, T value) {
  T values[1] = {value};
  team.combine(values, 1, Larger{});
  return values[0];
}

// body(team, row) for the rows of a block, with row -1 for a team that has none and must still take part in
// its sums. length(row) is what a row is judged by; those longer than `most` are left out.
template <class Length, class Body>
__device__ void for_rows_of_block(const RowSplit& split, int64_t block, int64_t rows, int64_t most,
                                  const Length& length, const Body& body) {
  const int thread = static_cast<int>(threadIdx.x);
  __shared__ unsigned long_rows[kTeamWarps];
  const int64_t first = block * (kTeamThreads / split.lanes);
  const int64_t row = first + thread / split.lanes;
  const int rank = thread % split.lanes;
  const int64_t size = row < rows ? length(row) : INT64_MAX;
  const unsigned waiting =
      __ballot_sync(kWholeWarp, rank == 0 && row < rows && size > split.longest && size <= most ? 1 : 0);
  if (thread % kWarp == 0) long_rows[thread / kWarp] = waiting;
  if (split.lanes <= kWarp) body(WarpTeam{split.lanes, rank}, size <= split.longest ? row : -1);
  __syncthreads();
  for (int warp = 0; warp < kTeamWarps; ++warp) {
    for (unsigned rest = long_rows[warp]; rest != 0; rest &= rest - 1) {
      const int lane = __popc((rest & (0u - rest)) - 1);
      body(BlockTeam{thread}, first + (warp * kWarp + lane) / split.lanes);
    }
  }
}

}  // namespace qw::kernels
