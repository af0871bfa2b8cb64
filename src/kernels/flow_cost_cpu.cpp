#include "kernels/flow_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/select.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

constexpr int64_t kElementsPerBlock = 1 << 13;  // that are summed apart

int64_t edges_per_block(int64_t width) { return std::max<int64_t>(1, kElementsPerBlock / width); }

template <class T>
T sum_of_sizes(const T* __restrict values, int64_t size) {
  constexpr int64_t kLanes = 16;  // sums side by side, whatever the machine's vectors are
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += std::abs(values[i + lane]);
  }
  for (int64_t lane = 0; i < size; ++i, ++lane) sums[lane] += std::abs(values[i]);
  T sum = 0;
  for (const T each : sums) sum += each;
  return sum;
}

template <class T>
double cost_of(const CostlyFlow<T>& view, int64_t begin, int64_t end) {
  const int64_t width = view.width;
  if (view.costs == nullptr) {
    return static_cast<double>(sum_of_sizes(view.flow + begin * width, (end - begin) * width));
  }
  double sum = 0;
  for (int64_t e = begin; e < end; ++e) {
    sum +=
        static_cast<double>(view.costs[e]) * static_cast<double>(sum_of_sizes(view.flow + e * width, width));
  }
  return sum;
}

}  // namespace

template <class T>
double flow_cost_cpu(const CostlyFlow<T>& view) {
  if (view.edges == 0 || view.width == 0) return 0;
  const int64_t size = edges_per_block(view.width);
  std::vector<double> sums((view.edges + size - 1) / size);
  parallel_for(static_cast<int64_t>(sums.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      sums[block] = cost_of(view, block * size, std::min(view.edges, (block + 1) * size));
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
void flow_gradient_cpu(const CostlyFlow<T>& view, const FlowGradient<T>& gradient) {
  if (view.width == 0) return;
  const T scale = *gradient.scale;
  const int64_t last = view.edges - 1;
  const bool far = is_far(view.edges, view.width, sizeof(T));  // heads ascend
  parallel_for(view.edges, edges_per_block(view.width), [&](int64_t begin, int64_t end) {
    with_columns(view.width, [&](auto width) {
      for (int64_t e = begin; e < end; ++e) {
        if (far)
          prefetch<sizeof(T)>(gradient.residual +
                              gradient.tails[std::min(e + rows_ahead(sizeof(T)), last)] * width);
        const T* __restrict head = gradient.residual + gradient.heads[e] * width;
        const T* __restrict tail = gradient.residual + gradient.tails[e] * width;
        const T* __restrict flow = view.flow + e * width;
        T* __restrict to = gradient.result + e * width;
        const T cost = view.costs == nullptr ? T{1} : view.costs[e];
        for (int64_t c = 0; c < width; ++c) {
          const T slope = zero_where(flow[c] == 0, std::copysign(cost, flow[c]));
          to[c] = scale * (head[c] - tail[c] + slope);
        }
      }
    });
  });
}

template double flow_cost_cpu(const CostlyFlow<float>&);
template double flow_cost_cpu(const CostlyFlow<double>&);
template void flow_gradient_cpu(const CostlyFlow<float>&, const FlowGradient<float>&);
template void flow_gradient_cpu(const CostlyFlow<double>&, const FlowGradient<double>&);

}  // namespace qw::kernels
