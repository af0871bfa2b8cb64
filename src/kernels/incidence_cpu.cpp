#include <algorithm>
#include <span>

#include "kernels/incidence.h"
#include "kernels/vectorise.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

// Below this many numbers a second thread costs more than it brings.
constexpr int64_t kGrain = 1 << 14;

int64_t rows_per_grain(int64_t columns) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns));
}

constexpr int64_t kMostInRegisters = 16;

struct Arcs {
  const int64_t* offsets;
  const int64_t* arcs;
  int64_t last;
  bool far;
};

QW_INLINE int64_t edge_of(int64_t arc) { return arc >= 0 ? arc : -1 - arc; }

// S F at one node, a few columns of it.
template <class T, class Columns>
QW_INLINE void sum_at_node(const T* flow, int64_t width, const Arcs& arcs, int64_t node, Columns columns,
                           T* __restrict result) {
  T sum[kMostInRegisters] = {};
  for (int64_t at = arcs.offsets[node]; at < arcs.offsets[node + 1]; ++at) {
    if (arcs.far)
      prefetch<sizeof(T)>(flow + edge_of(arcs.arcs[std::min(at + rows_ahead(sizeof(T)), arcs.last)]) * width);
    const int64_t arc = arcs.arcs[at];
    const T sign = arc >= 0 ? T(1) : T(-1);
    const T* __restrict row = flow + edge_of(arc) * width;
    for (int64_t c = 0; c < columns; ++c) sum[c] += sign * row[c];
  }
  for (int64_t c = 0; c < columns; ++c) result[c] = sum[c];
}

}  // namespace

template <class T>
void incidence_cpu(const T* flow, int64_t columns, const int64_t* offsets, const int64_t* arcs, int64_t nodes,
                   T* result) {
  const std::span<const int64_t> rows(offsets, static_cast<size_t>(nodes + 1));
  const Arcs all{offsets, arcs, offsets[nodes] - 1, is_far(offsets[nodes] / 2, columns, sizeof(T))};
  parallel_rows(rows, rows_per_grain(columns), [=](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < columns; first += kMostInRegisters) {
      with_columns(std::min(columns - first, kMostInRegisters), [&](auto few) {
        for (int64_t node = begin; node < end; ++node) {
          sum_at_node(flow + first, columns, all, node, few, result + node * columns + first);
        }
      });
    }
  });
}

template <class T>
void incidence_transpose_cpu(const T* potential, int64_t columns, const int32_t* heads, const int32_t* tails,
                             int64_t edges, T* result) {
  const bool far = is_far(edges, columns, sizeof(T));  // heads ascend
  parallel_for(edges, rows_per_grain(columns), [=](int64_t begin, int64_t end) {
    with_columns(columns, [&](auto width) {
      for (int64_t e = begin; e < end; ++e) {
        if (far)
          prefetch<sizeof(T)>(potential + tails[std::min(e + rows_ahead(sizeof(T)), edges - 1)] * width);
        const T* __restrict head = potential + heads[e] * width;
        const T* __restrict tail = potential + tails[e] * width;
        T* __restrict difference = result + e * width;
        for (int64_t c = 0; c < width; ++c) difference[c] = head[c] - tail[c];
      }
    });
  });
}

template void incidence_cpu(const float*, int64_t, const int64_t*, const int64_t*, int64_t, float*);
template void incidence_cpu(const double*, int64_t, const int64_t*, const int64_t*, int64_t, double*);
template void incidence_transpose_cpu(const float*, int64_t, const int32_t*, const int32_t*, int64_t, float*);
template void incidence_transpose_cpu(const double*, int64_t, const int32_t*, const int32_t*, int64_t,
                                      double*);

}  // namespace qw::kernels
