#include "qw/graph/matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kGrain = 1 << 12;

double weight_of(const Graph& graph, EdgeId edge) {
  return graph.weights().empty() ? 1.0 : graph.weights()[edge];
}

// A with a diagonal entry in every row: `missing_diagonal` where the graph has no self-loop.
CsrMatrix adjacency_with_diagonal(const Graph& graph, double missing_diagonal) {
  const Adjacency in = graph.in();
  const int64_t nodes = graph.num_nodes();
  CsrMatrix matrix;
  matrix.offsets = offsets_with_diagonal(graph);
  matrix.columns.resize(matrix.offsets[nodes]);
  matrix.values.resize(matrix.offsets[nodes]);
  matrix.edges.resize(matrix.offsets[nodes]);
  parallel_for(nodes, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      int64_t at = matrix.offsets[node];
      const auto put = [&](NodeId column, double value, EdgeId edge) {
        matrix.columns[at] = column;
        matrix.values[at] = value;
        matrix.edges[at++] = edge;
      };
      const auto id = static_cast<NodeId>(node);
      bool diagonal_done = false;
      for (size_t k = 0; k < in.degree(id); ++k) {
        const NodeId neighbour = in.neighbours_of(id)[k];
        if (!diagonal_done && neighbour > id) put(id, missing_diagonal, kNoEdge);
        diagonal_done |= neighbour >= id;
        put(neighbour, weight_of(graph, in.edges_of(id)[k]), in.edges_of(id)[k]);
      }
      if (!diagonal_done) put(id, missing_diagonal, kNoEdge);
    }
  });
  return matrix;
}

std::vector<double> row_sums(const CsrMatrix& matrix) {
  std::vector<double> sums(matrix.offsets.size() - 1, 0.0);
  parallel_for(static_cast<int64_t>(sums.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at)
        sums[row] += matrix.values[at];
    }
  });
  return sums;
}

template <class Function>
void transform_entries(CsrMatrix& matrix, const Function& function) {
  parallel_for(static_cast<int64_t>(matrix.offsets.size()) - 1, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
        matrix.values[at] = function(row, matrix.columns[at], matrix.values[at]);
      }
    }
  });
}

std::vector<double> inverse_roots(const std::vector<double>& sums) {
  std::vector<double> result(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) result[i] = sums[i] > 0 ? 1.0 / std::sqrt(sums[i]) : 0.0;
  return result;
}

}  // namespace

std::vector<int64_t> offsets_with_diagonal(const Graph& graph) {
  const Adjacency in = graph.in();
  std::vector<int64_t> offsets(graph.num_nodes() + 1, 0);
  parallel_for(graph.num_nodes(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      const auto neighbours = in.neighbours_of(static_cast<NodeId>(node));
      const bool looped = std::binary_search(neighbours.begin(), neighbours.end(), static_cast<NodeId>(node));
      offsets[node + 1] = static_cast<int64_t>(neighbours.size()) + !looped;
    }
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

CsrMatrix adjacency_matrix(const Graph& graph) {
  const Adjacency in = graph.in();
  CsrMatrix matrix;
  matrix.offsets.assign(in.offsets.begin(), in.offsets.end());
  matrix.columns.assign(in.neighbours.begin(), in.neighbours.end());
  matrix.edges.assign(in.edges.begin(), in.edges.end());
  matrix.values.resize(matrix.columns.size());
  for (size_t at = 0; at < matrix.values.size(); ++at) matrix.values[at] = weight_of(graph, matrix.edges[at]);
  return matrix;
}

CsrMatrix symmetric_normalisation(const Graph& graph) {
  CsrMatrix matrix = adjacency_with_diagonal(graph, 1.0);
  const std::vector<double> scale = inverse_roots(row_sums(matrix));
  transform_entries(
      matrix, [&](int64_t row, NodeId column, double value) { return scale[row] * value * scale[column]; });
  return matrix;
}

CsrMatrix laplacian(const Graph& graph, LaplacianKind kind) {
  CsrMatrix matrix = adjacency_with_diagonal(graph, 0.0);
  const std::vector<double> sums = row_sums(matrix);
  const std::vector<double> roots = inverse_roots(sums);
  transform_entries(matrix, [&](int64_t row, NodeId column, double value) {
    const double diagonal = row == column ? 1.0 : 0.0;
    switch (kind) {
      case LaplacianKind::kCombinatorial:
        return diagonal * sums[row] - value;
      case LaplacianKind::kSymmetric:
        return diagonal - roots[row] * value * roots[column];
      case LaplacianKind::kRandomWalk:
        return diagonal - (sums[row] > 0 ? value / sums[row] : 0.0);
    }
    return value;
  });
  return matrix;
}

}  // namespace qw
