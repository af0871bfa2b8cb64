#include "qw/graph/matrix.h"

#include <cmath>

#include "support/support.h"

namespace qw {
namespace {

using Dense = std::vector<std::vector<double>>;

Dense dense(const CsrMatrix& matrix) {
  const size_t nodes = matrix.offsets.size() - 1;
  Dense result(nodes, std::vector<double>(nodes, 0.0));
  for (size_t row = 0; row < nodes; ++row) {
    for (int64_t at = matrix.offsets[row]; at < matrix.offsets[row + 1]; ++at) {
      if (at > matrix.offsets[row]) {
        EXPECT_LT(matrix.columns[at - 1], matrix.columns[at]);
      }
      result[row][matrix.columns[at]] = matrix.values[at];
    }
  }
  return result;
}

void expect_near(const Dense& found, const Dense& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t j = 0; j < found.size(); ++j)
      EXPECT_NEAR(found[i][j], expected[i][j], 1e-15) << i << "," << j;
  }
}

// A path 0 - 1 - 2 with weights 2 and 3, and node 3 alone.
Graph path() {
  EdgeList list = test::edge_list(4, {{0, 1}, {2, 1}});
  list.weights = {2, 3};
  return Graph::build(std::move(list));
}

TEST(Matrix, Adjacency) {
  const CsrMatrix matrix = adjacency_matrix(path());
  expect_near(dense(matrix), {{0, 2, 0, 0}, {2, 0, 3, 0}, {0, 3, 0, 0}, {0, 0, 0, 0}});
  EXPECT_EQ(matrix.edges, (std::vector<EdgeId>{0, 0, 1, 1}));
}

TEST(Matrix, SymmetricNormalisation) {
  const CsrMatrix matrix = symmetric_normalisation(path());
  const double a = 3, b = 6, c = 4;  // row sums of A + I
  expect_near(dense(matrix), {{1 / a, 2 / std::sqrt(a * b), 0, 0},
                              {2 / std::sqrt(a * b), 1 / b, 3 / std::sqrt(b * c), 0},
                              {0, 3 / std::sqrt(b * c), 1 / c, 0},
                              {0, 0, 0, 1}});
  EXPECT_EQ(matrix.edges, (std::vector<EdgeId>{kNoEdge, 0, 0, kNoEdge, 1, 1, kNoEdge, kNoEdge}));
}

TEST(Matrix, SelfLoopKeepsItsWeight) {
  EdgeList list = test::edge_list(2, {{0, 0}, {0, 1}});
  list.weights = {3, 1};
  GraphOptions options;
  options.self_loops = EdgePolicy::kKeep;
  const Graph graph = Graph::build(std::move(list), options);
  expect_near(dense(symmetric_normalisation(graph)),
              {{3.0 / 4, 1 / std::sqrt(8.0)}, {1 / std::sqrt(8.0), 1.0 / 2}});
}

TEST(Matrix, Laplacians) {
  const double r = std::sqrt(0.4), s = std::sqrt(0.6);  // 2 / sqrt(2 * 5), 3 / sqrt(5 * 3)
  expect_near(dense(laplacian(path(), LaplacianKind::kCombinatorial)),
              {{2, -2, 0, 0}, {-2, 5, -3, 0}, {0, -3, 3, 0}, {0, 0, 0, 0}});
  expect_near(dense(laplacian(path(), LaplacianKind::kSymmetric)),
              {{1, -r, 0, 0}, {-r, 1, -s, 0}, {0, -s, 1, 0}, {0, 0, 0, 1}});
  expect_near(dense(laplacian(path(), LaplacianKind::kRandomWalk)),
              {{1, -1, 0, 0}, {-0.4, 1, -0.6, 0}, {0, -1, 1, 0}, {0, 0, 0, 1}});
}

TEST(Matrix, DirectedRowsGatherFromSources) {
  GraphOptions options;
  options.directed = true;
  const Graph graph = Graph::build(test::edge_list(3, {{0, 1}, {2, 1}}), options);
  expect_near(dense(adjacency_matrix(graph)), {{0, 0, 0}, {1, 0, 1}, {0, 0, 0}});
}

TEST(Matrix, EmptyGraph) {
  EXPECT_EQ(symmetric_normalisation(Graph()).offsets, (std::vector<int64_t>{0}));
  EXPECT_EQ(adjacency_matrix(Graph()).offsets, (std::vector<int64_t>{0}));
}

}  // namespace
}  // namespace qw
