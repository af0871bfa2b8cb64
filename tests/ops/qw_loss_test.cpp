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
  LabelTensors labels;
};

Problem karate(int64_t columns) {
  at::manual_seed(columns);
  const Graph graph = make_karate().graph;
  Problem problem{incidence_tensors(graph),
                  at::randn({graph.num_nodes(), columns}, at::kDouble),
                  at::randn({graph.num_edges(), columns}, at::kDouble),
                  at::rand({graph.num_edges()}, at::kDouble),
                  {}};
  problem.flow.narrow(0, 0, 10).zero_();
  const std::vector<int32_t> nodes{0, 5, 33, 7, 12};
  std::vector<int32_t> classes;
  for (const int32_t node : nodes) classes.push_back(static_cast<int32_t>(node % columns));
  problem.labels.nodes = tensor_of(nodes, at::kInt);
  problem.labels.classes = tensor_of(classes, at::kInt);
  return problem;
}

// By autograd over dense products.
at::Tensor reference(const Problem& problem, const at::Tensor& predictions, const at::Tensor& flow,
                     double weight) {
  const IncidenceTensors& graph = problem.graph;
  const at::Tensor moved = at::zeros(predictions.sizes(), at::kDouble)
                               .index_add(0, graph.heads, flow)
                               .index_add(0, graph.tails, -flow);
  const at::Tensor rows = (predictions + moved).index_select(0, problem.labels.nodes);
  const at::Tensor own = problem.labels.classes.to(at::kLong).unsqueeze(1);
  const at::Tensor divergences = -rows.log_softmax(1).gather(1, own);
  return (problem.costs.unsqueeze(1) * flow.abs()).sum() + weight * divergences.sum();
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
      return qw_loss(predictions, flow, problem.graph, problem.labels, problem.costs,
                     {Divergence::kSoftmax, 0.7});
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
    const at::Tensor value =
        qw_loss(problem.predictions, problem.flow, problem.graph, problem.labels, {}, {}, unit);
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
  LabelTensors labels;
  labels.nodes = at::arange(0, 3000, 2).to(at::kInt);
  labels.classes = labels.nodes.remainder(5).to(at::kInt);
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

TEST(QwLossOperator, Refusals) {
  const Problem good = karate(3);
  const std::string on = " on " + test::device_name();
  const auto refused = [&](const at::Tensor& predictions, const at::Tensor& flow, const at::Tensor& costs) {
    return refusal([&] { qw_loss(predictions, flow, good.graph, good.labels, costs); });
  };
  EXPECT_EQ(refused(good.predictions, good.flow.narrow(0, 0, 7), {}),
            "qw::qw_loss: flow must be [78, C], a row for each edge, got [7, 3]");
  EXPECT_EQ(refused(good.predictions.narrow(1, 0, 2), good.flow, {}),
            "qw::qw_loss: predictions must be [34, 3] of Double" + on + ", got [34, 2] of Double" + on);
  EXPECT_EQ(refused(good.predictions, good.flow, at::ones({3}, at::kDouble)),
            "qw::qw_loss: costs must be [78] of Double" + on + ", got [3] of Double" + on);
  EXPECT_EQ(refused(good.predictions, good.flow, at::ones({78}, at::kDouble).requires_grad_()),
            "qw::qw_loss: costs, targets and class_weights must not require a gradient, there is none; "
            "detach them");
  EXPECT_EQ(
      refusal([&] {
        qw_loss(good.predictions, good.flow, good.graph, good.labels, {}, {Divergence::kSoftmax, INFINITY});
      }),
      "qw::qw_loss: weight must be finite, got inf");
  EXPECT_EQ(refusal([&] {
              at::Tensor flow = good.flow.clone().requires_grad_();
              const at::Tensor value = qw_loss(good.predictions, flow, good.graph, good.labels);
              torch::autograd::grad({value}, {flow}, {}, true, true);
            }),
            "qw::qw_loss: there is no second derivative; call backward without create_graph");
}

}  // namespace
}  // namespace qw
