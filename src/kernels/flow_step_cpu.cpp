#include "kernels/flow_step.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kElements = 1024;             // worked on together: those of a few edges
constexpr int64_t kElementsPerBlock = 1 << 15;  // whose statistics are summed apart

template <class T>
struct Factors {
  T beta1, fresh1, beta2, fresh2, weight_decay, eps, step_size, root_scale, threshold_scale;

  explicit Factors(const FlowStepRule& rule)
      : beta1(static_cast<T>(rule.beta1)),
        fresh1(static_cast<T>(1.0 - rule.beta1)),
        beta2(static_cast<T>(rule.beta2)),
        fresh2(static_cast<T>(1.0 - rule.beta2)),
        weight_decay(static_cast<T>(rule.weight_decay)),
        eps(static_cast<T>(rule.eps)) {
    const auto step = static_cast<double>(rule.step);
    const double correction1 = 1.0 - std::pow(rule.beta1, step);
    step_size = static_cast<T>(rule.lr / correction1);
    root_scale = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(rule.beta2, step)));
    threshold_scale = static_cast<T>(correction1);  // the cost is no running mean and needs no correction
  }
};

// What is known of a few edges, element by element.
template <class T>
struct Work {
  std::vector<T> gradient, cost, violation, size;

  explicit Work(const FlowView<T>& view)
      : gradient(std::max(view.width, kElements)),
        cost(gradient.size(), T{1}),
        violation(gradient.size()),
        size(gradient.size()) {}
};

// The smooth part of the gradient, and the costs where there are any, of edges [begin, end).
template <class T>
QW_INLINE void gather(const FlowView<T>& view, int64_t begin, int64_t end, T* __restrict gradient,
                      T* __restrict cost) {
  const int64_t width = view.width;
  T* __restrict to = gradient;
  for (int64_t e = begin; e < end; ++e, to += width) {
    const T* __restrict head = view.residual + view.heads[e] * width;
    const T* __restrict tail = view.residual + view.tails[e] * width;
    for (int64_t c = 0; c < width; ++c) to[c] = head[c] - tail[c];
  }
  if (view.costs != nullptr) {
    for (int64_t e = begin; e < end; ++e, cost += width) {
      for (int64_t c = 0; c < width; ++c) cost[c] = view.costs[e];
    }
  }
  if (view.extra != nullptr) {
    const T* __restrict extra = view.extra + begin * width;
    for (int64_t i = 0; i < (end - begin) * width; ++i) gradient[i] += extra[i];
  }
}

template <class T>
QW_INLINE T with_sign_of(T x, T size) {
  return x > 0 ? size : (x < 0 ? -size : T{0});
}

// How far 0 is from gradient + cost * d|flow|, or below 0 when it is inside; on a directed graph flow at 0
// cannot go below, so that a positive slope there is no violation.
template <bool kDirected, class T>
QW_INLINE void measure(const T* __restrict gradient, const T* __restrict cost, const T* __restrict flow,
                       int64_t size, T* __restrict violation) {
  for (int64_t i = 0; i < size; ++i) {
    const T away = std::abs(gradient[i] + with_sign_of(flow[i], cost[i]));
    const T slope = kDirected ? -gradient[i] : std::abs(gradient[i]);
    violation[i] = flow[i] != 0 ? away : slope - cost[i];
  }
}

template <bool kProximal, bool kDirected, class T>
QW_INLINE void update(const Factors<T>& f, const T* __restrict gradient, const T* __restrict cost,
                      int64_t size, T* __restrict flow, T* __restrict first, T* __restrict second) {
  for (int64_t i = 0; i < size; ++i) {
    const T old = flow[i];
    const T g = gradient[i] + f.weight_decay * old + (kProximal ? T{0} : with_sign_of(old, cost[i]));
    const T m = f.beta1 * first[i] + f.fresh1 * g;
    const T v = f.beta2 * second[i] + f.fresh2 * g * g;
    const T rate = f.step_size / (std::sqrt(v) * f.root_scale + f.eps);
    first[i] = m;
    second[i] = v;
    T now = old - rate * m;
    // Both so that what is no number stays none.
    if constexpr (kProximal) {
      const T left = std::abs(now) - rate * (f.threshold_scale * cost[i]);
      now = left <= 0 ? T{0} : (now < 0 ? -left : left);
    }
    if constexpr (kDirected) now = now <= 0 ? T{0} : now;
    flow[i] = now;
  }
}

template <class T>
QW_INLINE int64_t count_zeros(const T* flow, int64_t size) {
  std::conditional_t<sizeof(T) == sizeof(int32_t), int32_t, int64_t> zeros = 0;
  for (int64_t i = 0; i < size; ++i) zeros += flow[i] == 0;
  return zeros;
}

// Halves by halves, which is in order, exact to the logarithm of the size, and quick.
template <class T, class Fold>
QW_INLINE T folded(T* values, int64_t size, const Fold& fold) {
  while (size > 1) {
    const int64_t half = (size + 1) / 2;
    T* __restrict to = values;
    const T* __restrict from = values + half;
    for (int64_t i = 0; i < size - half; ++i) to[i] = fold(to[i], from[i]);
    size = half;
  }
  return values[0];
}

// The larger one; what is no number is larger than all.
template <class T>
QW_INLINE T larger(T a, T b) {
  return b > a || b != b ? b : a;
}

template <bool kProximal, bool kDirected, class T>
QW_INLINE FlowStatistics step_edges(const Factors<T>& factors, const FlowView<T>& view, int64_t begin,
                                    int64_t end, Work<T>& work) {
  FlowStatistics statistics;
  const int64_t edges_at_once = std::max<int64_t>(1, kElements / view.width);
  T* gradient = work.gradient.data();
  T* cost = work.cost.data();
  T* sizes = work.size.data();
  T* violation = work.violation.data();
  for (int64_t e = begin; e < end; e += edges_at_once) {
    const int64_t stop = std::min(end, e + edges_at_once);
    const int64_t size = (stop - e) * view.width;
    T* flow = view.flow + e * view.width;
    gather(view, e, stop, gradient, cost);
    measure<kDirected>(gradient, cost, flow, size, violation);
    update<kProximal, kDirected>(factors, gradient, cost, size, flow, view.first_moment + e * view.width,
                                 view.second_moment + e * view.width);
    for (int64_t i = 0; i < size; ++i) sizes[i] = cost[i] * std::abs(flow[i]);
    const T largest = folded(violation, size, larger<T>);
    statistics.cost += static_cast<double>(folded(sizes, size, [](T a, T b) { return a + b; }));
    statistics.nonzeros += static_cast<double>(size - count_zeros(flow, size));
    statistics.violation = larger(statistics.violation, static_cast<double>(largest));
  }
  return statistics;
}

template <class T>
QW_INLINE FlowStatistics step_by_rule(const FlowStepRule& rule, const Factors<T>& factors,
                                      const FlowView<T>& view, int64_t begin, int64_t end, Work<T>& work) {
  if (rule.proximal) {
    return rule.directed ? step_edges<true, true>(factors, view, begin, end, work)
                         : step_edges<true, false>(factors, view, begin, end, work);
  }
  return rule.directed ? step_edges<false, true>(factors, view, begin, end, work)
                       : step_edges<false, false>(factors, view, begin, end, work);
}

QW_MULTIVERSION FlowStatistics step_range(const FlowStepRule& rule, const Factors<float>& factors,
                                          const FlowView<float>& view, int64_t begin, int64_t end,
                                          Work<float>& work) {
  return step_by_rule(rule, factors, view, begin, end, work);
}
QW_MULTIVERSION FlowStatistics step_range(const FlowStepRule& rule, const Factors<double>& factors,
                                          const FlowView<double>& view, int64_t begin, int64_t end,
                                          Work<double>& work) {
  return step_by_rule(rule, factors, view, begin, end, work);
}

}  // namespace

template <class T>
FlowStatistics flow_step_cpu(const FlowStepRule& rule, const FlowView<T>& view) {
  FlowStatistics total;
  if (view.width == 0 || view.edges == 0) return total;
  const Factors<T> factors(rule);
  const int64_t edges_per_block = std::max<int64_t>(1, kElementsPerBlock / view.width);
  const int64_t blocks = (view.edges + edges_per_block - 1) / edges_per_block;
  std::vector<FlowStatistics> of_block(blocks);
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    Work<T> work(view);
    for (int64_t block = begin; block < end; ++block) {
      of_block[block] = step_range(rule, factors, view, block * edges_per_block,
                                   std::min(view.edges, (block + 1) * edges_per_block), work);
    }
  });
  for (const FlowStatistics& each : of_block) {
    total.cost += each.cost;
    total.nonzeros += each.nonzeros;
    total.violation = larger(total.violation, each.violation);
  }
  return total;
}

template FlowStatistics flow_step_cpu(const FlowStepRule&, const FlowView<float>&);
template FlowStatistics flow_step_cpu(const FlowStepRule&, const FlowView<double>&);

}  // namespace qw::kernels
