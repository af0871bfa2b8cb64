#include "kernels/flow_step.h"

#include <algorithm>

#include "kernels/flow_rule.h"
#include "kernels/quads.cuh"

namespace qw::kernels {
namespace {

constexpr int kStepThreads = 128;
constexpr int kElements = 4 * kStepThreads;  // of a block at a time
constexpr int64_t kMostBlocks = 8192;

// A block's part of the statistics, and all of a block's together in thread 0.
struct Part {
  double cost = 0, nonzeros = 0, violation = 0;

  __device__ void add(const Part& other) {
    cost += other.cost;
    nonzeros += other.nonzeros;
    violation = fmax(violation, other.violation);
  }
};

template <int kThreads>
__device__ Part of_block(Part part) {
  for (int delta = kWarp / 2; delta > 0; delta /= 2) {
    part.add({__shfl_down_sync(kWholeWarp, part.cost, delta),
              __shfl_down_sync(kWholeWarp, part.nonzeros, delta),
              __shfl_down_sync(kWholeWarp, part.violation, delta)});
  }
  __shared__ double of_warp[kThreads / kWarp][3];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (threadIdx.x % kWarp == 0) {
    of_warp[warp][0] = part.cost;
    of_warp[warp][1] = part.nonzeros;
    of_warp[warp][2] = part.violation;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int other = 1; other < kThreads / kWarp; ++other) {
      part.add({of_warp[other][0], of_warp[other][1], of_warp[other][2]});
    }
  }
  return part;
}

__device__ inline void store(const Part& part, double* to) {
  to[0] = part.cost;
  to[1] = part.nonzeros;
  to[2] = part.violation;
}

template <class T>
struct Edge {
  const T* head;  // rows of the residual
  const T* tail;
  T cost;
};

template <class T, bool kProximal, bool kDirected>
struct FlowStep {
  static constexpr int kThreads = kStepThreads;
  FlowView<T> view;
  FlowStepRule rule;
  StepNumber step;
  uint32_t reciprocal;  // 2^32 / width, rounded up: a product for a division; 0 where that is not exact
  bool by_quads;        // flow, moments and extra are aligned
  bool rows_by_quads;   // rows of the residual are, too, and four elements are those of one edge
  double* sums;
  int64_t blocks;

  __device__ void operator()() const {
    const AdamFactors<T> factors = factors_now<T>(rule, step);
    const int64_t size = view.edges * view.width;
    const int64_t stride = blocks * kElements;
    const int64_t stride_edges = stride / view.width, stride_columns = stride % view.width;
    int64_t first = int64_t{blockIdx.x} * kElements;
    int64_t edge = first / view.width, column = first % view.width;  // of the block's first element
    Part part;
    T violation = 0;
    uint32_t nonzeros = 0;
    for (; first < size; first += stride) {
      const int64_t i = first + 4 * threadIdx.x;
      if (i < size) step_four(factors, i, size - i, edge, column, part.cost, nonzeros, violation);
      edge += stride_edges;
      column += stride_columns;
      if (column >= view.width) {
        column -= view.width;
        ++edge;
      }
    }
    part.nonzeros = nonzeros;
    part.violation = static_cast<double>(violation);
    part = of_block<kThreads>(part);
    if (threadIdx.x == 0) store(part, sums + 3 * blockIdx.x);
  }

  __device__ Edge<T> edge_at(int64_t edge) const {
    const int64_t e = edge < view.edges ? edge : view.edges - 1;
    const T cost = view.costs == nullptr ? T{1} : __ldg(view.costs + e);
    if (view.residual == nullptr) return {nullptr, nullptr, cost};
    return {view.residual + __ldg(view.heads + e) * view.width,
            view.residual + __ldg(view.tails + e) * view.width, cost};
  }

  // The smooth part of the gradient without extra, and the costs, of four elements.
  __device__ void gather(int64_t edge, int64_t column, T (&gradient)[4], T (&cost)[4]) const {
    const auto past = static_cast<uint32_t>(column) + 4 * threadIdx.x;
    const auto width = static_cast<uint32_t>(view.width);
    const uint32_t edges_past = reciprocal != 0 ? __umulhi(past, reciprocal) : past / width;
    const uint32_t c = past - edges_past * width;
    edge += edges_past;
    const Edge<T> begin = edge_at(edge);
    if (rows_by_quads) {
      T head[4], tail[4];
      reload_quad(begin.head + c, head);
      reload_quad(begin.tail + c, tail);
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        gradient[k] = head[k] - tail[k];
        cost[k] = begin.cost;
      }
      return;
    }
    const Edge<T> next = edge_at(edge + (c + 3 < width ? 0 : 1));
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const bool is_next = c + k >= width;
      Edge<T> at = is_next ? next : begin;
      uint32_t place = is_next ? c + k - width : c + k;
      if (width < 3 && place >= width) {  // four elements of more than two edges
        at = edge_at(edge + (c + k) / width);
        place = (c + k) % width;
      }
      gradient[k] = at.head == nullptr ? T{0} : __ldg(at.head + place) - __ldg(at.tail + place);
      cost[k] = at.cost;
    }
  }

  __device__ void step_four(const AdamFactors<T>& f, int64_t i, int64_t left, int64_t edge, int64_t column,
                            double& total, uint32_t& nonzeros, T& violation) const {
    T gradient[4], cost[4], flow[4], first[4], second[4], extra[4] = {};
    const bool whole = by_quads && left >= 4;
    if (whole) {
      load_quad(view.flow + i, flow);
      load_quad(view.first_moment + i, first);
      load_quad(view.second_moment + i, second);
      if (view.extra != nullptr) load_quad(view.extra + i, extra);
    } else {
      load_singly(view.flow + i, left, flow);
      load_singly(view.first_moment + i, left, first);
      load_singly(view.second_moment + i, left, second);
      if (view.extra != nullptr) load_singly(view.extra + i, left, extra);
    }
    gather(edge, column, gradient, cost);
    if (view.cost_share != nullptr) {
      const T share = __ldg(view.cost_share);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        cost[k] *= share;
        extra[k] -= zero_where(flow[k] == 0, copysign(cost[k], flow[k]));
      }
    }
    T size = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const T distance = flow_element<kProximal, kDirected>(f, gradient[k] + extra[k], cost[k], flow[k],
                                                            first[k], second[k]);
      if (k >= left) continue;
      violation = fmax(violation, distance);
      size += cost[k] * fabs(flow[k]);
      nonzeros += flow[k] == 0 ? 0 : 1;
    }
    total += static_cast<double>(size);
    if (whole) {
      store_quad(view.flow + i, flow);
      store_quad(view.first_moment + i, first);
      store_quad(view.second_moment + i, second);
    } else {
      store_singly(view.flow + i, left, flow);
      store_singly(view.first_moment + i, left, first);
      store_singly(view.second_moment + i, left, second);
    }
  }
};

struct SumFlowStatistics {
  static constexpr int kThreads = 256;
  const double* sums;
  int64_t blocks;
  double* statistics;

  __device__ void operator()() const {
    Part part;
    for (int64_t block = threadIdx.x; block < blocks; block += kThreads) {
      part.add({sums[3 * block], sums[3 * block + 1], sums[3 * block + 2]});
    }
    part = of_block<kThreads>(part);
    if (threadIdx.x == 0) store(part, statistics);
  }
};

template <bool kProximal, bool kDirected, class T>
void launch_step(const FlowStepRule& rule, const StepNumber& step, const FlowView<T>& view, double* sums,
                 Stream stream) {
  const bool by_quads = aligned_for_quads(view.flow, view.first_moment, view.second_moment, view.extra);
  const bool rows_by_quads =
      view.residual != nullptr && view.width % 4 == 0 && aligned_for_quads(view.residual);
  const uint64_t width = view.width;
  // Exact up to 2^32 / width; what is divided is below width + kElements.
  const bool by_product = width > 1 && (width + kElements) * width < (uint64_t{1} << 32);
  const auto reciprocal = static_cast<uint32_t>(by_product ? ((uint64_t{1} << 32) + width - 1) / width : 0);
  const int64_t blocks = flow_step_blocks(view.edges * view.width);
  launch(
      FlowStep<T, kProximal, kDirected>{view, rule, step, reciprocal, by_quads, rows_by_quads, sums, blocks},
      blocks, stream);
}

}  // namespace

int64_t flow_step_blocks(int64_t elements) { return std::min(kMostBlocks, blocks_for(elements, kElements)); }

template <class T>
void flow_step_cuda(const FlowStepRule& rule, const StepNumber& step, const FlowView<T>& view, double* sums,
                    double* statistics, Stream stream) {
  if (rule.proximal) {
    rule.directed ? launch_step<true, true>(rule, step, view, sums, stream)
                  : launch_step<true, false>(rule, step, view, sums, stream);
  } else {
    rule.directed ? launch_step<false, true>(rule, step, view, sums, stream)
                  : launch_step<false, false>(rule, step, view, sums, stream);
  }
  launch(SumFlowStatistics{sums, flow_step_blocks(view.edges * view.width), statistics}, 1, stream);
}

template void flow_step_cuda(const FlowStepRule&, const StepNumber&, const FlowView<float>&, double*, double*,
                             Stream);
template void flow_step_cuda(const FlowStepRule&, const StepNumber&, const FlowView<double>&, double*,
                             double*, Stream);

}  // namespace qw::kernels
