// Personalised PageRank beside its definition, on directed graphs too.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "qw/nn/graph_tensors.h"
#include "qw/nn/model.h"
#include "support/support.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

Graph random_graph(bool directed) {
  constexpr int kNodes = 60, kEdges = 240;
  EdgeList edges;
  edges.num_nodes = kNodes;
  uint32_t state = 1;
  const auto draw = [&] { return static_cast<NodeId>((state = state * 1664525 + 1013904223) >> 8) % kNodes; };
  for (int k = 0; k < kEdges; ++k) {
    edges.tails.push_back(draw());
    edges.heads.push_back(draw());
  }
  GraphOptions options;
  options.directed = directed;
  return Graph::build(edges, options);
}

at::Tensor dense(const PropagationMatrix& matrix, int64_t nodes) {
  const at::Tensor rows = at::repeat_interleave(matrix.pattern.offsets.diff());
  return at::zeros({nodes, nodes}, at::kDouble)
      .index_put_({rows, matrix.pattern.columns.to(at::kLong)}, matrix.values.to(at::kDouble), true);
}

// alpha 1 gives what the perceptron says.
at::Tensor scores(const Graph& graph, int64_t k, double alpha, at::ScalarType type) {
  ModelOptions options;
  options.hidden = 6;
  options.k = k;
  options.alpha = alpha;
  const auto model = find_model("appnp").make(model_shape(graph, 5, 3), options, 3, test::options(type));
  const GraphTensors tensors(graph, test::options(type));
  const NodeMatrix features(
      at::sin(at::arange(5 * graph.num_nodes(), at::kDouble)).reshape({-1, 5}).to(type));
  return model->forward({tensors, features, {}, false, 0, 0});
}

TEST(Appnp, IsItsIterationForAnyNumberOfSteps) {
  for (const bool directed : {false, true}) {
    const Graph graph = random_graph(directed);
    const at::Tensor matrix =
        dense(GraphTensors(graph, test::options(at::kDouble)).with_self_loops(), graph.num_nodes());
    const at::Tensor predicted = scores(graph, 1, 1.0, at::kDouble);
    for (const int64_t steps : {3, 10, 11, 100}) {
      at::Tensor z = predicted;
      for (int64_t k = 0; k < steps; ++k) z = 0.9 * at::mm(matrix, z) + 0.1 * predicted;
      EXPECT_LE(test::relative_error(scores(graph, steps, 0.1, at::kDouble), z), 1e-9) << directed << steps;
      EXPECT_LE(test::relative_error(scores(graph, steps, 0.1, at::kFloat).to(at::kDouble), z), 1e-4)
          << directed << steps;
    }
  }
}

}  // namespace
}  // namespace qw
