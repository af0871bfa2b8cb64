// The matrices of a graph, against what their definitions say.
#include "qw/nn/graph_tensors.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "qw/core/parallel.h"
#include "qw/graph/generators.h"
#include "support/support.h"

namespace qw {
namespace {

// With a self-loop, an edge given twice, an isolated node and weights.
Graph awkward_graph(bool directed) {
  EdgeList edges = test::edge_list(6, {{0, 1}, {1, 2}, {2, 0}, {2, 2}, {3, 1}, {3, 1}, {4, 0}});
  edges.weights = {0.5, 2, 1.25, 3, 0.75, 1.5, 4};
  GraphOptions options;
  options.directed = directed;
  options.duplicates = options.self_loops = EdgePolicy::kKeep;
  return Graph::build(std::move(edges), options);
}

std::vector<int64_t> rows_of(const at::Tensor& offsets) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row + 1 < offsets.size(0); ++row) {
    rows.insert(rows.end(), offsets[row + 1].item<int64_t>() - offsets[row].item<int64_t>(), row);
  }
  return rows;
}

at::Tensor dense_of(const PropagationMatrix& matrix) {
  const int64_t nodes = matrix.pattern.offsets.size(0) - 1;
  at::Tensor dense = at::zeros({nodes, nodes}, at::kDouble);
  const std::vector<int64_t> rows = rows_of(matrix.pattern.offsets);
  for (size_t k = 0; k < rows.size(); ++k) {
    dense[rows[k]][matrix.pattern.columns[k].item<int64_t>()] += matrix.values[k];
  }
  return dense;
}

void expect_transpose(const SparsePattern& pattern) {
  const std::vector<int64_t> rows = rows_of(pattern.offsets), columns = rows_of(pattern.transposed_offsets);
  ASSERT_EQ(pattern.order.size(0), static_cast<int64_t>(rows.size()));
  int64_t before = -1;
  for (size_t k = 0; k < columns.size(); ++k) {
    const auto entry = pattern.order[k].item<int64_t>();
    EXPECT_EQ(pattern.columns[entry].item<int64_t>(), columns[k]);
    EXPECT_EQ(pattern.transposed_columns[k].item<int64_t>(), rows[entry]);
    EXPECT_TRUE(k == 0 || columns[k] != columns[k - 1] || before < entry);
    before = entry;
  }
}

class EitherGraph : public testing::TestWithParam<bool> {};

TEST_P(EitherGraph, GivesTheAdjacencyAndItsTranspose) {
  const Graph graph = awkward_graph(GetParam());
  const GraphTensors tensors(graph, at::kDouble);
  at::Tensor expected = at::zeros({6, 6}, at::kDouble);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const int64_t head = graph.heads()[e], tail = graph.tails()[e];
    expected[head][tail] += graph.weights()[e];
    if (!graph.directed() && head != tail) expected[tail][head] += graph.weights()[e];
  }
  EXPECT_TRUE(at::equal(dense_of(tensors.adjacency()), expected));
  expect_transpose(tensors.mean().pattern);
  expect_transpose(tensors.neighbourhood().pattern);
  const at::Tensor loops = at::ones({6}, at::kDouble);
  loops[2] = 0;  // it has one of its own
  EXPECT_TRUE(at::equal(dense_of(tensors.neighbourhood()), expected + at::diag(loops)));
}

TEST_P(EitherGraph, OwnWeightsAreThoseThatAreGivenAsOnes) {
  const Graph graph = awkward_graph(GetParam());
  const GraphTensors tensors(graph, at::kDouble);
  const at::Tensor ones = at::ones({graph.num_edges()}, at::kDouble);
  EXPECT_TRUE(at::equal(tensors.with_self_loops().values, tensors.with_self_loops(ones).values));
  EXPECT_TRUE(at::equal(tensors.normalised().values, tensors.normalised(ones).values));
  EXPECT_TRUE(at::equal(tensors.adjacency().values, tensors.adjacency(ones).values));
  EXPECT_TRUE(at::equal(tensors.mean().values, tensors.mean(ones).values));
  EXPECT_TRUE(at::equal(tensors.neighbourhood().values, tensors.neighbourhood(ones).values));
}

TEST_P(EitherGraph, EveryEntryOfAnEdgeSendsItsGradient) {
  const Graph graph = awkward_graph(GetParam());
  const GraphTensors tensors(graph, at::kDouble);
  const at::Tensor weights = at::ones({graph.num_edges()}, at::kDouble).requires_grad_();
  const PropagationMatrix matrix = tensors.neighbourhood(weights);
  matrix.values.sum().backward();
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const bool twice = !graph.directed() && graph.heads()[e] != graph.tails()[e];
    EXPECT_EQ(weights.grad()[e].item<double>(), (twice ? 2 : 1) * graph.weights()[e]) << e;
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, EitherGraph, testing::Bool(),
                         [](const auto& either) { return either.param ? "directed" : "undirected"; });

TEST_P(EitherGraph, ProductsWithFeaturesAreMadeOnceAndKept) {
  const GraphTensors tensors(awkward_graph(GetParam()), at::kDouble);
  const at::Tensor x = at::randn({6, 4}, at::kDouble), y = at::randn({6, 4}, at::kDouble);
  at::Tensor smoothed;
  {
    const c10::InferenceMode first_asked_for_by_an_evaluation;
    smoothed = tensors.smoothed(x);
  }
  EXPECT_FALSE(smoothed.is_inference()) << "trainings keep it for their backward pass";
  EXPECT_TRUE(at::allclose(smoothed, dense_of(tensors.with_self_loops()).mm(x)));
  EXPECT_TRUE(at::allclose(tensors.summed(x), dense_of(tensors.adjacency()).mm(x) + x));
  EXPECT_TRUE(tensors.smoothed(x).is_same(smoothed));
  EXPECT_TRUE(at::allclose(tensors.smoothed(y), dense_of(tensors.with_self_loops()).mm(y)));
}

TEST(GraphTensors, AreTheSameForAnyNumberOfThreads) {
  const Graph graph = make_csbm({.nodes = 20'000, .degree = 12, .features = 0}).graph;
  const int threads = thread_count();
  std::vector<PropagationMatrix> made;
  for (const int count : {1, 4}) {
    set_thread_count(count);
    const GraphTensors tensors(graph, at::kFloat);
    made.push_back(tensors.mean());
    made.push_back(tensors.neighbourhood(at::full({graph.num_edges()}, 0.5f)));
    made.push_back(tensors.with_self_loops());
  }
  set_thread_count(threads);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(at::equal(made[k].pattern.offsets, made[k + 3].pattern.offsets));
    EXPECT_TRUE(at::equal(made[k].pattern.columns, made[k + 3].pattern.columns));
    EXPECT_TRUE(at::equal(made[k].pattern.order, made[k + 3].pattern.order));
    EXPECT_TRUE(at::equal(made[k].values, made[k + 3].values));
  }
}

}  // namespace
}  // namespace qw
