// Matrices of a graph in compressed sparse rows: the normalisations that the models multiply with.
//
// Row i gathers from the nodes with an arc into i, so that (M x)_i is what i hears. For an undirected graph
// all matrices here but the random-walk ones are symmetric.
#pragma once

#include <cstdint>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"

namespace QW_PUBLIC qw {

// A square sparse matrix [N, N].
struct CsrMatrix {
  std::vector<int64_t> offsets;  // [N + 1]
  std::vector<NodeId> columns;   // ascending within a row
  std::vector<double> values;    // one per entry
  std::vector<EdgeId> edges;     // the edge behind each entry; kNoEdge on an added diagonal
};

inline constexpr EdgeId kNoEdge = -1;  // in CsrMatrix::edges: the entry comes from no edge

// Where the rows of A + I begin, [N + 1]: those of A, with room for a diagonal entry where there is no
// self-loop.
std::vector<int64_t> offsets_with_diagonal(const Graph& graph);

// A: entry (i, j) is the weight of the arc j -> i.
CsrMatrix adjacency_matrix(const Graph& graph);

// D^-1/2 (A + I) D^-1/2 with D the row sums of A + I: the propagation of GCN, APPNP and others. A kept
// self-loop keeps its weight instead of getting 1. Rows whose sum is not positive are zero.
CsrMatrix symmetric_normalisation(const Graph& graph);

// The three matrices of laplacian(), in the order of its comment.
enum class LaplacianKind { kCombinatorial, kSymmetric, kRandomWalk };

// D - A, I - D^-1/2 A D^-1/2 or I - D^-1 A. The diagonal is always stored; where D is zero the normalised
// ones have 1.
CsrMatrix laplacian(const Graph& graph, LaplacianKind kind);

}  // namespace qw
