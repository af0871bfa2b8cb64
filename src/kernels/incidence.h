// S F and S^T Z on raw pointers, row-major. Bytes moved at least: S F reads E C values and 2 E arcs and
// writes N C values; S^T Z reads 2 E node ids and (from cache, when N C fits) E C values twice, and writes E
// C values.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

template <class T>
void incidence_cpu(const T* flow, int64_t columns, const int64_t* offsets, const int64_t* arcs, int64_t nodes,
                   T* result);

template <class T>
void incidence_transpose_cpu(const T* potential, int64_t columns, const int32_t* heads, const int32_t* tails,
                             int64_t edges, T* result);

template <class T>
void incidence_cuda(const T* flow, int64_t columns, const int64_t* offsets, const int64_t* arcs,
                    int64_t nodes, int64_t edges, T* result, Stream stream);

template <class T>
void incidence_transpose_cuda(const T* potential, int64_t columns, const int32_t* heads, const int32_t* tails,
                              int64_t edges, T* result, Stream stream);

}  // namespace qw::kernels
