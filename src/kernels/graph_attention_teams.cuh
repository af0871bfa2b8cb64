// Graph attention where a row needs less than a warp: teams of kTeam lanes have a row each, so that
// a warp does several rows by the same instructions.
#pragma once

#include "kernels/graph_attention_warp.cuh"

namespace qw::kernels::attention {

constexpr int kTeamForShortRows = 16;

// The rows of a block by its teams, one each, then the long ones by all teams together:
//   state = of_share(row, share);  by a team for its share of a row; also by one without a row, for none of
//                                  row 0's entries, since shuffles need whole warps
//   join(state, other);            lane by lane what two teams have of a long row
//   write(row, is_empty, state);   by the lanes of one team
template <int kTeam, int kThreads, class OfShare, class Join, class Write>
__device__ void for_rows_of_teams(const int64_t* offsets, int64_t nodes, int long_row,
                                  const OfShare& of_share, const Join& join, const Write& write) {
  constexpr int kTeams = kThreads / kTeam;
  static_assert(kTeams <= kWarp);
  using ShareHere = Share<kTeam, kThreads>;
  using State = decltype(of_share(int64_t{0}, ShareHere(0, 0, false)));
  __shared__ State handed[kThreads];
  const int lane = static_cast<int>(threadIdx.x % kWarp), team = static_cast<int>(threadIdx.x / kTeam);
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kTeams;
  const bool is_row = lane < kTeams && first_row + lane < nodes;
  const int64_t offset = is_row ? offsets[first_row + lane] : 0;
  const int64_t next = is_row ? offsets[first_row + lane + 1] : 0;
  const unsigned rows = __ballot_sync(kWholeWarp, is_row);
  const unsigned long_rows = __ballot_sync(kWholeWarp, is_row && next - offset > long_row);
  unsigned left = long_rows;
  int which = team;
  bool owned = ((rows & ~long_rows) >> team & 1) != 0;
#pragma unroll 1
  for (bool together = false;; together = owned = true) {
    const int64_t row = owned ? first_row + which : 0;
    const int64_t begin = __shfl_sync(kWholeWarp, offset, which);
    const int64_t end = __shfl_sync(kWholeWarp, next, which);
    State state = of_share(row, ShareHere(begin, owned ? end : begin, together));
    if (together) {
      handed[threadIdx.x] = state;
      __syncthreads();
      const State* of_lane = handed + threadIdx.x % kTeam;
      state = of_lane[0];
      for (int other = 1; other < kTeams; ++other) join(state, of_lane[other * kTeam]);
      __syncthreads();
      owned = team == 0;
    }
    if (owned) write(row, begin == end, state);
    if (left == 0) return;
    which = __ffs(static_cast<int>(left)) - 1;
    left &= left - 1;
  }
}

}  // namespace qw::kernels::attention
