// Learnable weights of edges as the values of a sparse matrix.
#pragma once

#include <ATen/core/Tensor.h>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// Which edge stands behind each entry of a sparse matrix, and back: an undirected edge has two entries, a
// directed one or a self-loop has one, an added self-loop is an entry without an edge. Both on one device,
// contiguous, and each the inverse of the other.
struct EntryEdges {
  at::Tensor edges;       // [entries] int64: the edge of each entry, or -1: none
  at::Tensor entries_of;  // [E, 2] int64: the entries of each edge, -1 where there is no such entry
};

// weights [E] -> [entries], float32 or float64: the weight of each entry's edge, 1 where it has none.
// Gradient for `weights`: the sum of the incoming one over the edge's entries, in the order of `entries_of`,
// made once (no second derivative); the same bits for any number of threads. O(entries + E). Throws
// c10::Error on shapes, types or devices that do not fit; indices are trusted.
at::Tensor edge_values(const at::Tensor& weights, const EntryEdges& entries);

}  // namespace qw
