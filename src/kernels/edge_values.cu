#include "kernels/edge_values.h"

#include "kernels/launch.cuh"

namespace qw::kernels {
namespace {

// kAtOnce indices are on their way together when there are many of them.
template <class T, int kAtOnce>
struct EdgeValues {
  static constexpr int kThreads = 256;
  const T* weights;
  const int64_t* edges;
  int64_t entries;
  T* result;

  __device__ void operator()() const {
    const int64_t first = blockIdx.x * int64_t{kThreads} * kAtOnce + threadIdx.x;
    int64_t edge[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      edge[u] = first + u * kThreads < entries ? edges[first + u * kThreads] : -1;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (first + u * kThreads < entries)
        result[first + u * kThreads] = edge[u] < 0 ? T(1) : weights[edge[u]];
    }
  }
};

template <class T>
struct EdgeValuesBackward {
  static constexpr int kThreads = 256;
  const T* gradient;
  const int64_t* entries_of;
  int64_t edges;
  T* result;

  __device__ void operator()() const {
    const int64_t e = blockIdx.x * int64_t{kThreads} + threadIdx.x;
    if (e >= edges) return;
    const int64_t one = entries_of[2 * e], other = entries_of[2 * e + 1];
    result[e] = (one < 0 ? T(0) : gradient[one]) + (other < 0 ? T(0) : gradient[other]);
  }
};

}  // namespace

template <class T>
void edge_values_cuda(const T* weights, const int64_t* edges, int64_t entries, T* result, Stream stream) {
  constexpr int64_t kMany = 1 << 20;
  const auto run = [&]<int kAtOnce>() {
    using Task = EdgeValues<T, kAtOnce>;
    launch(Task{weights, edges, entries, result}, blocks_for(entries, Task::kThreads * kAtOnce), stream);
  };
  entries < kMany ? run.template operator()<1>() : run.template operator()<4>();
}

template <class T>
void edge_values_backward_cuda(const T* gradient, const int64_t* entries_of, int64_t edges, T* result,
                               Stream stream) {
  using Task = EdgeValuesBackward<T>;
  launch(Task{gradient, entries_of, edges, result}, blocks_for(edges, Task::kThreads), stream);
}

template void edge_values_cuda(const float*, const int64_t*, int64_t, float*, Stream);
template void edge_values_cuda(const double*, const int64_t*, int64_t, double*, Stream);
template void edge_values_backward_cuda(const float*, const int64_t*, int64_t, float*, Stream);
template void edge_values_backward_cuda(const double*, const int64_t*, int64_t, double*, Stream);

}  // namespace qw::kernels
