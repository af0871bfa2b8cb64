// Weights of edges to entries of a matrix and their gradients back, on raw pointers.
//
// Floor: forward 8 bytes of index, one gathered weight and one write an entry; backward 16 bytes of index,
// one or two gathered numbers and one write an edge.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace qw::kernels {

// result [entries]: weights[edges[k]], or 1 where edges[k] is -1
template <class T>
void edge_values_cpu(const T* weights, const int64_t* edges, int64_t entries, T* result);

// result [edges]: gradient[entries_of[e, 0]] + gradient[entries_of[e, 1]], where -1 counts as 0
template <class T>
void edge_values_backward_cpu(const T* gradient, const int64_t* entries_of, int64_t edges, T* result);

template <class T>
void edge_values_cuda(const T* weights, const int64_t* edges, int64_t entries, T* result, Stream stream);
template <class T>
void edge_values_backward_cuda(const T* gradient, const int64_t* entries_of, int64_t edges, T* result,
                               Stream stream);

}  // namespace qw::kernels
