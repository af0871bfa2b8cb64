#include "qw/ops/qw_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "qw/core/parallel.h"
#include "qw/graph/generators.h"
#include "support/support.h"

#include "support/sparse_on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::on_device::incidence_tensors;
using test::on_device::tensor_of;

struct Problem {
  IncidenceTensors graph;
  at::Tensor predictions, flow, costs;
  at::Tensor labels, nodes;
};

Problem karate(int64_t columns) {
  at::manual_seed(columns);
  const Graph graph = make_karate().graph;
  Problem problem{incidence_tensors(graph),
                  at::randn({graph.num_nodes(), columns}, at::kDouble),
                  at::randn({graph.num_edges(), columns}, at::kDouble),
                  at::rand({graph.num_edges()}, at::kDouble),
                  at::arange(graph.num_nodes()).remainder(columns),
                  tensor_of(std::vector<int64_t>{0, 5, 33, 7, 12}, at::kLong)};
  problem.flow.narrow(0, 0, 10).zero_();
  return problem;
}

// By autograd over dense products.
at::Tensor reference(const Problem& problem, const at::Tensor& predictions, const at::Tensor& flow,
                     double lambda) {
  const IncidenceTensors& graph = problem.graph;
  const at::Tensor moved = at::zeros(predictions.sizes(), at::kDouble)
                               .index_add(0, graph.heads, flow)
                               .index_add(0, graph.tails, -flow);
  const at::Tensor rows = (predictions + moved).index_select(0, problem.nodes);
  const at::Tensor own = problem.labels.index_select(0, problem.nodes).unsqueeze(1);
  const at::Tensor divergences = -rows.log_softmax(1).gather(1, own);
  return (problem.costs.unsqueeze(1) * flow.abs()).sum() + lambda * divergences.mean();
}

TEST(QwLossOperator, IsTheFormulaAndItsGradient) {
  for (const int64_t columns : {1, 2, 5, 17}) {
    const Problem problem = karate(columns);
    const auto gradients = [&](const auto& loss) {
      at::Tensor predictions = problem.predictions.clone().requires_grad_();
      at::Tensor flow = problem.flow.clone().requires_grad_();
      const at::Tensor value = loss(predictions, flow);
      auto found = torch::autograd::grad({value * 3}, {predictions, flow});
      found.push_back(value.detach());
      return found;
    };
    const auto ours = gradients([&](const at::Tensor& predictions, const at::Tensor& flow) {
      return qw_loss(predictions, flow, problem.graph, problem.labels, problem.nodes,
                     {.lambda = 0.7, .costs = problem.costs});
    });
    const auto theirs = gradients([&](const at::Tensor& predictions, const at::Tensor& flow) {
      return reference(problem, predictions, flow, 0.7);
    });
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(at::allclose(ours[i], theirs[i], 1e-12, 1e-12)) << columns << " columns, " << i;
    }
  }
}

// What comes in goes to the unit, by which a step tells the cost's part of the flow's gradient.
TEST(QwLossOperator, TheUnitHasTheGradientThatComesIn) {
  const Problem problem = karate(3);
  for (const bool scalar : {true, false}) {
    at::Tensor unit = (scalar ? at::ones({}, at::kDouble) : at::ones({1}, at::kDouble)).requires_grad_();
    const at::Tensor value = qw_loss(problem.predictions, problem.flow, problem.graph, problem.labels,
                                     problem.nodes, {.unit = unit});
    const at::Tensor gradient = torch::autograd::grad({value * 2.5}, {unit})[0];
    EXPECT_EQ(gradient.sizes(), unit.sizes());
    EXPECT_EQ(gradient.item<double>(), 2.5);
  }
}

TEST(QwLossOperator, SameBitsForAnyNumberOfThreads) {
  at::manual_seed(1);
  const Dataset data = make_csbm({.nodes = 3000, .degree = 12});
  const IncidenceTensors graph = incidence_tensors(data.graph);
  const at::Tensor flow = at::randn({data.graph.num_edges(), 5}, at::kFloat);
  at::Tensor predictions = at::randn({3000, 5}, at::kFloat);
  const at::Tensor labels = at::arange(3000).remainder(5);
  const auto run = [&] {
    at::Tensor moving = flow.clone().requires_grad_();
    const at::Tensor value = qw_loss(predictions, moving, graph, labels);
    return std::pair(value.detach(), torch::autograd::grad({value}, {moving})[0]);
  };
  const int before = thread_count();
  set_thread_count(1);
  const auto alone = run();
  for (const int threads : {2, 3, 8}) {
    set_thread_count(threads);
    const auto together = run();
    EXPECT_TRUE(at::equal(together.first, alone.first));
    EXPECT_TRUE(at::equal(together.second, alone.second));
  }
  set_thread_count(before);
}

// A mask of bool, the numbers of nodes and negative labels elsewhere say the same; so do values in one
// column.
TEST(QwLossOperator, MasksInAnyForm) {
  const Problem problem = karate(3);
  const auto value = [&](const at::Tensor& labels, const at::Tensor& mask,
                         const QwLossOptions& options = {}) {
    return qw_loss(problem.predictions, problem.flow, problem.graph, labels, mask, options).item<double>();
  };
  at::Tensor mask = at::zeros({34}, at::kBool);
  mask.index_fill_(0, problem.nodes, 1);
  const double wanted = value(problem.labels, problem.nodes);
  EXPECT_EQ(value(problem.labels, mask), wanted);
  EXPECT_EQ(value(at::where(mask, problem.labels, -1), {}), wanted);
  EXPECT_EQ(value(problem.labels.to(at::kInt), problem.nodes.to(at::kInt)), wanted);
  const QwLossOptions sum{.mean = false};
  EXPECT_NEAR(value(problem.labels, mask, sum) - wanted,
              0.8 * (value(problem.labels, mask, sum) - problem.flow.abs().sum().item<double>()), 1e-9);
  mask.fill_(0);  // it is looked at again
  EXPECT_NEAR(value(problem.labels, mask), problem.flow.abs().sum().item<double>(), 1e-9);
}

TEST(QwLossOperator, ValuesThatAreKnown) {
  const Problem problem = karate(2);
  at::Tensor values = at::randn({34, 2}, at::kDouble);
  values[3][1] = NAN;
  values.narrow(0, 20, 14).fill_(NAN);
  const at::Tensor moved = problem.predictions + incidence(problem.flow, problem.graph);
  const at::Tensor known = values.isnan().logical_not();
  const at::Tensor squares = (moved - values).square().masked_select(known);
  const QwLossOptions options{.kind = Divergence::kLeastSquares, .lambda = 2};
  EXPECT_NEAR(qw_loss(problem.predictions, problem.flow, problem.graph, values, {}, options).item<double>(),
              (problem.flow.abs().sum() + 2 * squares.mean()).item<double>(), 1e-9);
}

TEST(QwLossOperator, Refusals) {
  const Problem good = karate(3);
  const std::string on = " on " + test::device_name();
  const auto refused = [&](const at::Tensor& predictions, const at::Tensor& flow,
                           const QwLossOptions& options) {
    return refusal([&] { qw_loss(predictions, flow, good.graph, good.labels, good.nodes, options); });
  };
  EXPECT_EQ(refused(good.predictions, good.flow.narrow(0, 0, 7), {}),
            "qw::qw_loss: flow must be [78, C], a row for each edge, got [7, 3]");
  EXPECT_EQ(refused(good.predictions.narrow(1, 0, 2), good.flow, {}),
            "qw::qw_loss: predictions must be [34, 3] of Double" + on + ", got [34, 2] of Double" + on);
  EXPECT_EQ(refused(good.predictions, good.flow, {.costs = at::ones({3}, at::kDouble)}),
            "qw::qw_loss: costs must be [78] of Double" + on + ", got [3] of Double" + on);
  EXPECT_EQ(
      refused(good.predictions, good.flow, {.costs = at::ones({78}, at::kDouble).requires_grad_()}),
      "qw::qw_loss: costs, labels and class_weights must not require a gradient, there is none; detach them");
  EXPECT_EQ(refused(good.predictions, good.flow, {.lambda = INFINITY}),
            "qw::qw_loss: lambda must be finite and not negative, got inf");
  const auto labels = [&](const at::Tensor& classes, const at::Tensor& mask,
                          const QwLossOptions& options = {}) {
    return refusal([&] { qw_loss(good.predictions, good.flow, good.graph, classes, mask, options); });
  };
  EXPECT_EQ(labels(good.labels.narrow(0, 0, 5), {}),
            "qw::qw_loss: labels must be [34] of integers, a class for each node, got [5] of Long");
  EXPECT_EQ(labels(good.labels, {}, {.kind = Divergence::kLeastSquares}),
            "qw::qw_loss: labels must be [34, 3] of Double, got [34] of Long");
  EXPECT_EQ(labels(good.labels + 1, good.nodes),
            "qw::qw_loss: labels must be in [0, 3) where the mask is, got 3 at node 5");
  EXPECT_EQ(labels(good.labels, good.nodes + 1), "qw::qw_loss: mask must be in [0, 34), got 34 at place 2");
  EXPECT_EQ(labels(good.labels, at::zeros({2}, at::kLong)),
            "qw::qw_loss: mask must name no node twice, got 2 numbers of 1 nodes");
  EXPECT_EQ(labels(good.labels, at::zeros({2}, at::kBool)),
            "qw::qw_loss: mask must be [34] of bool, or numbers of nodes," + on + ", got [2] of Bool" + on);
  EXPECT_EQ(labels(good.labels.to(at::kMeta), {}), "qw::qw_loss: labels are on meta, the predictions" + on);
  EXPECT_EQ(refusal([&] {
              at::Tensor flow = good.flow.clone().requires_grad_();
              const at::Tensor value = qw_loss(good.predictions, flow, good.graph, good.labels);
              torch::autograd::grad({value}, {flow}, {}, true, true);
            }),
            "qw::qw_loss: there is no second derivative; call backward without create_graph");
}

}  // namespace
}  // namespace qw
