#include "kernels/flow_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/flow_rule.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kElements = 1024;             // worked on together: those of a few edges
constexpr int64_t kElementsPerBlock = 1 << 13;  // whose statistics are summed apart

template <class T>
T share_of(const FlowView<T>& view) {
  return view.cost_share == nullptr ? T{1} : *view.cost_share;
}

// What is known of a few edges, element by element.
template <class T>
struct Buffers {
  std::vector<T> gradient, cost;
  std::vector<T> size;  // of every few edges of a block together, so that they are added up once for a block

  explicit Buffers(const FlowView<T>& view)
      : gradient(std::max(view.width, kElements)),
        cost(gradient.size(), share_of(view)),
        size(gradient.size()) {}
};

// The difference of the residual along edges [begin, end).
template <class T>
QW_INLINE void gather_differences(const FlowView<T>& view, int64_t begin, int64_t end, T* __restrict to) {
  const int64_t last = view.edges - 1;
  const bool far = is_far(view.edges, view.width, sizeof(T));  // heads ascend
  with_columns(
      view.width, [&](auto columns) __attribute__((always_inline)) {
        for (int64_t e = begin; e < end; ++e, to += columns) {
          if (far)
            prefetch<sizeof(T)>(view.residual +
                                view.tails[std::min(e + rows_ahead(sizeof(T)), last)] * columns);
          const T* __restrict head = view.residual + view.heads[e] * columns;
          const T* __restrict tail = view.residual + view.tails[e] * columns;
          for (int64_t c = 0; c < columns; ++c) to[c] = head[c] - tail[c];
        }
      });
}

// What is in `extra` for edges [begin, end), without what is of the cost there.
template <class T>
QW_INLINE void add_extra(const FlowView<T>& view, int64_t begin, int64_t end, const T* __restrict cost,
                         T* __restrict to) {
  const int64_t size = (end - begin) * view.width;
  const T* __restrict extra = view.extra + begin * view.width;
  const T* __restrict flow = view.flow + begin * view.width;
  if (view.cost_share == nullptr) {
    for (int64_t i = 0; i < size; ++i) to[i] += extra[i];
  } else {
    for (int64_t i = 0; i < size; ++i)
      to[i] += extra[i] - zero_where(flow[i] == 0, std::copysign(cost[i], flow[i]));
  }
}

// The smooth part of the gradient, and the costs where there are any, of edges [begin, end).
template <class T>
QW_INLINE void gather(const FlowView<T>& view, int64_t begin, int64_t end, T* __restrict gradient,
                      T* __restrict cost) {
  if (view.costs != nullptr) {
    for (int64_t e = begin; e < end; ++e) {
      std::fill_n(cost + (e - begin) * view.width, view.width, share_of(view) * view.costs[e]);
    }
  }
  if (view.residual != nullptr) {
    gather_differences(view, begin, end, gradient);
  } else {
    std::fill_n(gradient, (end - begin) * view.width, T{0});
  }
  if (view.extra != nullptr) add_extra(view, begin, end, cost, gradient);
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t>;

template <class T>
struct Tally {
  BitsOf<T> zeros = 0;
  BitsOf<T> violation = 0;  // as bits, whose order is that of the numbers above 0
};

// A size is cost * |flow| afterwards.
template <bool kProximal, bool kDirected, class T>
QW_INLINE Tally<T> update(const AdamFactors<T>& f, const T* __restrict gradient, const T* __restrict cost,
                          int64_t size, T* __restrict flow, T* __restrict first, T* __restrict second,
                          T* __restrict sizes) {
  Tally<T> tally;
  for (int64_t i = 0; i < size; ++i) {
    const T violation =
        flow_element<kProximal, kDirected>(f, gradient[i], cost[i], flow[i], first[i], second[i]);
    tally.violation = std::max(tally.violation, std::bit_cast<BitsOf<T>>(violation));
    sizes[i] += cost[i] * std::abs(flow[i]);
    tally.zeros += flow[i] == 0;
  }
  return tally;
}

// By halves, which loses less than one after the other would.
template <class T>
double sum_of(T* values, int64_t size) {
  for (; size > 1; size = (size + 1) / 2) {
    const int64_t half = (size + 1) / 2;
    for (int64_t i = 0; i < size - half; ++i) values[i] += values[half + i];
  }
  return static_cast<double>(values[0]);
}

template <bool kProximal, bool kDirected, class T>
QW_INLINE FlowStatistics step_edges(const AdamFactors<T>& factors, const FlowView<T>& view, int64_t begin,
                                    int64_t end, Buffers<T>& buffers) {
  const int64_t edges_at_once = std::max<int64_t>(1, kElements / view.width);
  const int64_t most = std::min(end - begin, edges_at_once) * view.width;
  std::fill_n(buffers.size.begin(), most, T{0});
  int64_t zeros = 0;
  BitsOf<T> violation = 0;
  for (int64_t e = begin; e < end; e += edges_at_once) {
    const int64_t stop = std::min(end, e + edges_at_once);
    const int64_t at = e * view.width;
    gather(view, e, stop, buffers.gradient.data(), buffers.cost.data());
    const Tally<T> tally = update<kProximal, kDirected>(
        factors, buffers.gradient.data(), buffers.cost.data(), (stop - e) * view.width, view.flow + at,
        view.first_moment + at, view.second_moment + at, buffers.size.data());
    zeros += tally.zeros;
    violation = std::max(violation, tally.violation);
  }
  return {sum_of(buffers.size.data(), most), static_cast<double>((end - begin) * view.width - zeros),
          static_cast<double>(std::bit_cast<T>(violation))};
}

template <class T>
QW_INLINE FlowStatistics step_by_rule(const FlowStepRule& rule, const AdamFactors<T>& factors,
                                      const FlowView<T>& view, int64_t begin, int64_t end,
                                      Buffers<T>& buffers) {
  if (rule.proximal) {
    return rule.directed ? step_edges<true, true>(factors, view, begin, end, buffers)
                         : step_edges<true, false>(factors, view, begin, end, buffers);
  }
  return rule.directed ? step_edges<false, true>(factors, view, begin, end, buffers)
                       : step_edges<false, false>(factors, view, begin, end, buffers);
}

QW_MULTIVERSION FlowStatistics step_range(const FlowStepRule& rule, const AdamFactors<float>& factors,
                                          const FlowView<float>& view, int64_t begin, int64_t end,
                                          Buffers<float>& buffers) {
  return step_by_rule(rule, factors, view, begin, end, buffers);
}
QW_MULTIVERSION FlowStatistics step_range(const FlowStepRule& rule, const AdamFactors<double>& factors,
                                          const FlowView<double>& view, int64_t begin, int64_t end,
                                          Buffers<double>& buffers) {
  return step_by_rule(rule, factors, view, begin, end, buffers);
}

}  // namespace

template <class T>
FlowStatistics flow_step_cpu(const FlowStepRule& rule, const FlowView<T>& view) {
  FlowStatistics total;
  if (view.width == 0 || view.edges == 0) return total;
  const AdamFactors<T> factors(rule);
  const int64_t edges_per_block = std::max<int64_t>(1, kElementsPerBlock / view.width);
  const int64_t blocks = (view.edges + edges_per_block - 1) / edges_per_block;
  std::vector<FlowStatistics> of_block(blocks);
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    Buffers<T> buffers(view);
    for (int64_t block = begin; block < end; ++block) {
      of_block[block] = step_range(rule, factors, view, block * edges_per_block,
                                   std::min(view.edges, (block + 1) * edges_per_block), buffers);
    }
  });
  for (const FlowStatistics& each : of_block) {
    total.cost += each.cost;
    total.nonzeros += each.nonzeros;
    total.violation = std::max(total.violation, each.violation);
  }
  return total;
}

template FlowStatistics flow_step_cpu(const FlowStepRule&, const FlowView<float>&);
template FlowStatistics flow_step_cpu(const FlowStepRule&, const FlowView<double>&);

}  // namespace qw::kernels
