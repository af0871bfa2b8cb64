#include "kernels/edge_values.h"

#include "qw/core/parallel.h"

namespace qw::kernels {
namespace {

// Below this many numbers a second thread costs more than it brings.
constexpr int64_t kGrain = 1 << 14;

}  // namespace

template <class T>
void edge_values_cpu(const T* weights, const int64_t* edges, int64_t entries, T* result) {
  parallel_for(entries, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) result[k] = edges[k] < 0 ? T(1) : weights[edges[k]];
  });
}

template <class T>
void edge_values_backward_cpu(const T* gradient, const int64_t* entries_of, int64_t edges, T* result) {
  const auto at = [gradient](int64_t entry) { return entry < 0 ? T(0) : gradient[entry]; };
  parallel_for(edges, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) result[e] = at(entries_of[2 * e]) + at(entries_of[2 * e + 1]);
  });
}

template void edge_values_cpu(const float*, const int64_t*, int64_t, float*);
template void edge_values_cpu(const double*, const int64_t*, int64_t, double*);
template void edge_values_backward_cpu(const float*, const int64_t*, int64_t, float*);
template void edge_values_backward_cpu(const double*, const int64_t*, int64_t, double*);

}  // namespace qw::kernels
