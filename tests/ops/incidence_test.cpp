#include "qw/ops/incidence.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/graph/generators.h"
#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::on_device::incidence_tensors;

// S as the dense matrix of its definition.
at::Tensor dense_incidence(const Graph& graph, at::ScalarType type) {
  at::Tensor matrix = at::zeros({graph.num_nodes(), graph.num_edges()}, at::kDouble);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    matrix[graph.heads()[e]][e] += 1;
    matrix[graph.tails()[e]][e] -= 1;
  }
  return matrix.to(type);
}

std::vector<Graph> graphs() {
  GraphOptions directed, loops;
  directed.directed = true;
  loops.self_loops = EdgePolicy::kKeep;
  return {make_karate().graph,
          Graph::build(test::edge_list(5, {{3, 1}, {1, 3}, {0, 4}}), directed),
          Graph::build(test::edge_list(3, {{0, 1}, {2, 2}}), loops),
          Graph::build(test::edge_list(2, {{0, 1}})),
          Graph::build(test::edge_list(4, {})),
          Graph()};
}

// Whole numbers: sums are exact, so results must be equal to the last bit.
at::Tensor whole_numbers(int64_t rows, int64_t columns, at::ScalarType type) {
  return at::randint(-50, 50, {rows, columns}, type);
}

class IncidenceOf : public testing::TestWithParam<at::ScalarType> {};

TEST_P(IncidenceOf, IsTheDenseProductExactly) {
  for (const Graph& graph : graphs()) {
    const IncidenceTensors tensors = incidence_tensors(graph);
    const at::Tensor matrix = dense_incidence(graph, GetParam());
    for (const int64_t columns : {0, 1, 3, 7, 17}) {
      const at::Tensor flow = whole_numbers(graph.num_edges(), columns, GetParam());
      const at::Tensor potential = whole_numbers(graph.num_nodes(), columns, GetParam());
      EXPECT_TRUE(at::equal(incidence(flow, tensors), matrix.mm(flow)));
      EXPECT_TRUE(at::equal(incidence_transpose(potential, tensors), matrix.t().mm(potential)));
    }
  }
}

// A hub has more arcs than a few threads should add alone.
TEST_P(IncidenceOf, OfAHubIsTheSum) {
  constexpr int64_t kLeaves = 3000;
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId leaf = 1; leaf <= kLeaves; ++leaf) edges.emplace_back(0, leaf);
  const Graph graph = Graph::build(test::edge_list(kLeaves + 1, edges));
  const IncidenceTensors tensors = incidence_tensors(graph);
  for (const int64_t columns : {1, 7, 64}) {
    const at::Tensor flow = whole_numbers(kLeaves, columns, GetParam());
    const at::Tensor heads = tensors.heads.to(at::kLong), tails = tensors.tails.to(at::kLong);
    const at::Tensor expected =
        at::zeros({kLeaves + 1, columns}, GetParam()).index_add(0, heads, flow).index_add(0, tails, -flow);
    EXPECT_TRUE(at::equal(incidence(flow, tensors), expected));
  }
}

TEST_P(IncidenceOf, IntoOverwritesWhatIsThere) {
  for (const Graph& graph : graphs()) {
    const IncidenceTensors tensors = incidence_tensors(graph);
    const at::Tensor flow = whole_numbers(graph.num_edges(), 7, GetParam());
    const at::Tensor result = at::full({graph.num_nodes(), 7}, 5.0, GetParam());
    incidence_into(flow, tensors, result);
    EXPECT_TRUE(at::equal(result, incidence(flow, tensors)));
    const at::Tensor columns = whole_numbers(7, graph.num_edges(), GetParam()).t();
    incidence_into(columns, tensors, result);
    EXPECT_TRUE(at::equal(result, incidence(columns, tensors)));
  }
}

TEST_P(IncidenceOf, TakesNonContiguousInput) {
  const Graph graph = make_karate().graph;
  const IncidenceTensors tensors = incidence_tensors(graph);
  const at::Tensor flow = whole_numbers(4, graph.num_edges(), GetParam()).t();
  ASSERT_FALSE(flow.is_contiguous());
  EXPECT_TRUE(at::equal(incidence(flow, tensors), incidence(flow.contiguous(), tensors)));
  const at::Tensor potential = whole_numbers(graph.num_nodes(), 8, GetParam()).slice(1, 0, 8, 2);
  EXPECT_TRUE(at::equal(incidence_transpose(potential, tensors),
                        incidence_transpose(potential.contiguous(), tensors)));
}

INSTANTIATE_TEST_SUITE_P(Types, IncidenceOf, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& param) { return std::string(c10::toString(param.param)); });

TEST(Incidence, GradientsAreTheTransposes) {
  const Graph graph = make_karate().graph;
  const IncidenceTensors tensors = incidence_tensors(graph);
  const at::Tensor matrix = dense_incidence(graph, at::kDouble);
  const at::Tensor flow = at::randn({graph.num_edges(), 3}, at::kDouble).requires_grad_();
  const at::Tensor weight = at::randn({graph.num_nodes(), 3}, at::kDouble);
  // L = sum(weight * (S F)^2) / 2 has dL/dF = S^T (weight * S F).
  const at::Tensor loss = (weight * incidence(flow, tensors).square()).sum() / 2;
  const at::Tensor gradient = torch::autograd::grad({loss}, {flow}, {}, true, true)[0];
  EXPECT_TRUE(at::allclose(gradient, matrix.t().mm(weight * matrix.mm(flow)), 1e-12, 1e-12));
  // And once more: the gradient of sum(gradient^2) / 2 is S^T (weight * S gradient).
  const at::Tensor second = torch::autograd::grad({gradient.square().sum() / 2}, {flow})[0];
  EXPECT_TRUE(at::allclose(second, matrix.t().mm(weight * matrix.mm(gradient.detach())), 1e-12, 1e-12));
}

TEST(Incidence, AdjointIdentity) {
  const Graph graph = make_karate().graph;
  const IncidenceTensors tensors = incidence_tensors(graph);
  const at::Tensor flow = whole_numbers(graph.num_edges(), 5, at::kDouble);
  const at::Tensor potential = whole_numbers(graph.num_nodes(), 5, at::kDouble);
  EXPECT_EQ((incidence(flow, tensors) * potential).sum().item<double>(),
            (flow * incidence_transpose(potential, tensors)).sum().item<double>());
}

TEST(Incidence, SameBitsForAnyNumberOfThreads) {
  const Graph graph = generate("csbm:nodes=4000,degree=20,features=0").graph;
  const IncidenceTensors tensors = incidence_tensors(graph);
  const at::Tensor flow = at::randn({graph.num_edges(), 7});
  at::Tensor first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const at::Tensor now = incidence(flow, tensors);
    if (!first.defined()) first = now;
    EXPECT_TRUE(at::equal(now, first));
  }
}

TEST(Incidence, Refusals) {
  const Graph graph = Graph::build(test::edge_list(3, {{0, 1}, {1, 2}}));
  const IncidenceTensors good = incidence_tensors(graph);
  const at::Tensor flow = at::zeros({2, 4});
  EXPECT_EQ(refusal([&] {
              incidence(at::zeros({3, 4}), good);
            }),
            "qw::incidence: flow must be [2, C], a row for each edge, got [3, 4]");
  EXPECT_EQ(refusal([&] { incidence(at::zeros({2}), good); }),
            "qw::incidence: flow must be [2, C], a row for each edge, got [2]");
  EXPECT_EQ(refusal([&] {
              incidence(at::zeros({2, 4}, at::kHalf), good);
            }),
            "qw::incidence: flow must be float32 or float64, got Half");
  EXPECT_EQ(refusal([&] {
              incidence_transpose(at::zeros({2, 4}), good);
            }),
            "qw::incidence_transpose: potential must be [3, C], a row for each node, got [2, 4]");
  IncidenceTensors bad = good;
  bad.heads = good.heads.to(at::kLong);
  EXPECT_EQ(refusal([&] { incidence(flow, bad); }),
            "qw::incidence: heads must be one contiguous row of Int, got Long [2]");
  bad = good;
  bad.tails = good.tails.slice(0, 0, 1);
  EXPECT_EQ(refusal([&] { incidence(flow, bad); }), "qw::incidence: heads has 2 edges but tails has 1");
  bad = good;
  bad.arcs = good.arcs.slice(0, 0, 3);
  EXPECT_EQ(refusal([&] { incidence(flow, bad); }), "qw::incidence: 2 edges have 4 arcs, got 3");
  bad = good;
  bad.offsets = good.offsets.slice(0, 0, 0);
  EXPECT_EQ(refusal([&] { incidence(flow, bad); }),
            "qw::incidence: offsets must have one entry more than there are nodes, got none");
}

TEST(Incidence, IntoTakesNoGradientAndRefusesWhatDoesNotFit) {
  const std::string on = " on " + test::device_name();
  const IncidenceTensors good = incidence_tensors(Graph::build(test::edge_list(3, {{0, 1}, {1, 2}})));
  const at::Tensor flow = at::ones({2, 4}).requires_grad_();
  const at::Tensor result = at::zeros({3, 4});
  incidence_into(flow, good, result);
  EXPECT_FALSE(result.requires_grad());
  const std::string wanted =
      "qw::_incidence_into_: result must be contiguous [3, 4] of Float" + on + ", got ";
  const auto refused = [&](const at::Tensor& into) {
    return refusal([&] { incidence_into(flow, good, into); });
  };
  EXPECT_EQ(refused(at::zeros({2, 4})), wanted + "[2, 4] of Float" + on);
  EXPECT_EQ(refused(at::zeros({3})), wanted + "[3] of Float" + on);
  EXPECT_EQ(refused(at::zeros({3, 4}, at::kDouble)), wanted + "[3, 4] of Double" + on);
  EXPECT_EQ(refused(at::zeros({4, 3}).t()), wanted + "strided [3, 4] of Float" + on);
  EXPECT_EQ(refusal([&] {
              incidence_into(at::zeros({3, 4}), good, result);
            }),
            "qw::_incidence_into_: flow must be [2, C], a row for each edge, got [3, 4]");
}

TEST(Incidence, ChecksAlsoUnderInferenceMode) {
  const c10::InferenceMode mode;
  const IncidenceTensors tensors = incidence_tensors(make_karate().graph);
  EXPECT_EQ(incidence(at::ones({78, 2}), tensors).sizes(), (std::vector<int64_t>{34, 2}));
  EXPECT_NE(refusal([&] { incidence(at::zeros({3, 4}), tensors); }), "not refused");
}

}  // namespace
}  // namespace qw
