#include "kernels/incidence.h"

#include "kernels/row_windows.cuh"

namespace qw::kernels {
namespace {

template <class T>
struct ArcEntries {
  const int64_t* offsets;
  const int64_t* arcs;
  int64_t rows;

  using Source = int64_t;

  template <int kCount>
  __device__ void read(const int64_t (&entry)[kCount], Source (&source)[kCount], T (&value)[kCount]) const {
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const int64_t arc = arcs[entry[u]];
      source[u] = arc >= 0 ? arc : -1 - arc;
      value[u] = arc >= 0 ? T(1) : T(-1);
    }
  }
};

// A group of lanes has kAtOnce edges, a lane the columns lane * kVector, ... of each.
template <class T, int kVector, int kAtOnce>
struct IncidenceTranspose {
  static constexpr int kThreads = 256;
  const T* potential;
  int64_t width;
  const int32_t* heads;
  const int32_t* tails;
  int64_t edges;
  T* result;
  int lanes;

  __device__ void operator()() const {
    const int groups = kThreads / lanes;
    const int64_t first = blockIdx.x * int64_t{groups} * kAtOnce + threadIdx.x / lanes;
    const T* head[kAtOnce];
    const T* tail[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int64_t e = first + u * groups;
      head[u] = e < edges ? potential + heads[e] * width : nullptr;
      tail[u] = e < edges ? potential + tails[e] * width : nullptr;
    }
    for (int64_t c = int64_t{threadIdx.x % lanes} * kVector; c < width; c += lanes * kVector) {
      Pack<T, kVector> from[kAtOnce], to[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (head[u] == nullptr) continue;
        to[u] = load_pack<T, kVector>(head[u] + c);
        from[u] = load_pack<T, kVector>(tail[u] + c);
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (head[u] == nullptr) continue;
        for (int v = 0; v < kVector; ++v) to[u].at[v] -= from[u].at[v];
        *reinterpret_cast<Pack<T, kVector>*>(result + (first + u * groups) * width + c) = to[u];
      }
    }
  }
};

}  // namespace

template <class T>
void incidence_cuda(const T* flow, int64_t columns, const int64_t* offsets, const int64_t* arcs,
                    int64_t nodes, int64_t edges, T* result, Stream stream) {
  window_sums(ArcEntries<T>{offsets, arcs, nodes}, 2 * edges, flow, columns, result, DeviceUpdate<T>{},
              stream);
}

template <class T>
void incidence_transpose_cuda(const T* potential, int64_t columns, const int32_t* heads, const int32_t* tails,
                              int64_t edges, T* result, Stream stream) {
  constexpr int64_t kMany = 1 << 18;  // edges that fill the device without several each
  constexpr int kWide = kWideVector<T>;
  if (columns == 0) return;
  const bool wide = columns % kWide == 0 && is_aligned(potential) && is_aligned(result);
  const int64_t packs = blocks_for(columns, wide ? kWide : 1);
  const int lanes = std::min(kWarp, power_of_two_from(packs));
  const auto run = [&]<int kVector, int kAtOnce>() {
    launch(IncidenceTranspose<T, kVector, kAtOnce>{potential, columns, heads, tails, edges, result, lanes},
           blocks_for(edges, int64_t{256 / lanes} * kAtOnce), stream);
  };
  if (wide) {
    edges < kMany ? run.template operator()<kWide, 1>() : run.template operator()<kWide, 4>();
  } else {
    edges < kMany ? run.template operator()<1, 1>() : run.template operator()<1, 4>();
  }
}

template void incidence_cuda(const float*, int64_t, const int64_t*, const int64_t*, int64_t, int64_t, float*,
                             Stream);
template void incidence_cuda(const double*, int64_t, const int64_t*, const int64_t*, int64_t, int64_t,
                             double*, Stream);
template void incidence_transpose_cuda(const float*, int64_t, const int32_t*, const int32_t*, int64_t, float*,
                                       Stream);
template void incidence_transpose_cuda(const double*, int64_t, const int32_t*, const int32_t*, int64_t,
                                       double*, Stream);

}  // namespace qw::kernels
