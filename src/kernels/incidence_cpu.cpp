#include <algorithm>

#include "kernels/incidence.h"
#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

// Below this many numbers a second thread costs more than it brings.
constexpr int64_t kGrain = 1 << 14;

int64_t rows_per_grain(int64_t columns) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns));
}

}  // namespace

template <class T>
void incidence_cpu(const T* flow, int64_t columns, const int64_t* offsets, const int64_t* arcs, int64_t nodes,
                   T* result) {
  parallel_for(nodes, rows_per_grain(columns), [=](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      T* sum = result + node * columns;
      std::fill(sum, sum + columns, T(0));
      for (int64_t at = offsets[node]; at < offsets[node + 1]; ++at) {
        const bool is_head = arcs[at] >= 0;
        const T* row = flow + (is_head ? arcs[at] : -1 - arcs[at]) * columns;
        if (is_head) {
          for (int64_t c = 0; c < columns; ++c) sum[c] += row[c];
        } else {
          for (int64_t c = 0; c < columns; ++c) sum[c] -= row[c];
        }
      }
    }
  });
}

template <class T>
void incidence_transpose_cpu(const T* potential, int64_t columns, const int32_t* heads, const int32_t* tails,
                             int64_t edges, T* result) {
  parallel_for(edges, rows_per_grain(columns), [=](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const T* head = potential + heads[e] * columns;
      const T* tail = potential + tails[e] * columns;
      T* difference = result + e * columns;
      for (int64_t c = 0; c < columns; ++c) difference[c] = head[c] - tail[c];
    }
  });
}

template void incidence_cpu(const float*, int64_t, const int64_t*, const int64_t*, int64_t, float*);
template void incidence_cpu(const double*, int64_t, const int64_t*, const int64_t*, int64_t, double*);
template void incidence_transpose_cpu(const float*, int64_t, const int32_t*, const int32_t*, int64_t, float*);
template void incidence_transpose_cpu(const double*, int64_t, const int32_t*, const int32_t*, int64_t,
                                      double*);

}  // namespace qw::kernels
