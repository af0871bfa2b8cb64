#include "kernels/flow_cost.h"

#include <algorithm>

#include "kernels/launch.cuh"
#include "kernels/select.h"

namespace qw::kernels {
namespace {

constexpr int kCostThreads = 256;
constexpr int64_t kMostBlocks = 1024;

// The sum over a block of `kThreads`, in thread 0.
template <int kThreads>
__device__ double sum_of_block(double sum) {
  for (int delta = kWarp / 2; delta > 0; delta /= 2) sum += __shfl_down_sync(kWholeWarp, sum, delta);
  __shared__ double of_warp[kThreads / kWarp];
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kThreads / kWarp; ++warp) sum += of_warp[warp];
  }
  return sum;
}

template <class T>
struct FlowCost {
  static constexpr int kThreads = kCostThreads;
  CostlyFlow<T> view;
  int64_t blocks;
  double* partials;

  __device__ void operator()() const {
    const int64_t size = view.edges * view.width;
    double sum = 0;
    for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < size; i += blocks * kThreads) {
      const T cost = view.costs == nullptr ? T{1} : view.costs[i / view.width];
      sum += static_cast<double>(cost * fabs(view.flow[i]));
    }
    sum = sum_of_block<kThreads>(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  }
};

struct AddUp {
  static constexpr int kThreads = kCostThreads;
  const double* partials;
  int64_t blocks;
  double* value;

  __device__ void operator()() const {
    double sum = 0;
    for (int64_t block = threadIdx.x; block < blocks; block += kThreads) sum += partials[block];
    sum = sum_of_block<kThreads>(sum);
    if (threadIdx.x == 0) value[0] += sum;
  }
};

template <class T>
struct FlowGradientTask {
  static constexpr int kThreads = kCostThreads;
  CostlyFlow<T> view;
  FlowGradient<T> gradient;

  __device__ void operator()() const {
    const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
    if (i >= view.edges * view.width) return;
    const int64_t e = i / view.width, c = i - e * view.width;
    const T cost = view.costs == nullptr ? T{1} : view.costs[e];
    const T flow = view.flow[i];
    const T slope = zero_where(flow == 0, copysign(cost, flow));
    gradient.result[i] = gradient.scale[0] * (gradient.residual[gradient.heads[e] * view.width + c] -
                                              gradient.residual[gradient.tails[e] * view.width + c] + slope);
  }
};

}  // namespace

int64_t flow_cost_blocks(int64_t elements) {
  return std::min(kMostBlocks, blocks_for(elements, 4 * kCostThreads));
}

template <class T>
void flow_cost_cuda(const CostlyFlow<T>& view, double* partials, double* value, Stream stream) {
  const int64_t blocks = flow_cost_blocks(view.edges * view.width);
  launch(FlowCost<T>{view, blocks, partials}, blocks, stream);
  launch(AddUp{partials, blocks, value}, 1, stream);
}

template <class T>
void flow_gradient_cuda(const CostlyFlow<T>& view, const FlowGradient<T>& gradient, Stream stream) {
  launch(FlowGradientTask<T>{view, gradient}, blocks_for(view.edges * view.width, kCostThreads), stream);
}

template void flow_cost_cuda(const CostlyFlow<float>&, double*, double*, Stream);
template void flow_cost_cuda(const CostlyFlow<double>&, double*, double*, Stream);
template void flow_gradient_cuda(const CostlyFlow<float>&, const FlowGradient<float>&, Stream);
template void flow_gradient_cuda(const CostlyFlow<double>&, const FlowGradient<double>&, Stream);

}  // namespace qw::kernels
