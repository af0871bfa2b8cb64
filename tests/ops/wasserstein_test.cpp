#include "qw/ops/wasserstein.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "qw/graph/generators.h"
#include "qw/transport/wasserstein.h"
#include "support/sparse.h"
#include "support/support.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::refusal;
using test::tensor_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor ids(const std::vector<int32_t>& values) { return tensor_of(values, at::kInt).to(test::device()); }
at::Tensor numbers(const std::vector<double>& values) {
  return tensor_of(values, at::kDouble).to(test::device());
}
at::Tensor column(const std::vector<double>& values) { return numbers(values).unsqueeze(1); }
at::Tensor all_of(int64_t nodes) { return at::arange(nodes, at::TensorOptions(at::kInt)); }

at::Tensor distance(const at::Tensor& values, const at::Tensor& targets, const TransportTensors& problem) {
  return std::get<0>(wasserstein1_partial(values, targets, problem));
}

double distance_of(const std::vector<double>& values, const std::vector<double>& targets,
                   const TransportTensors& problem) {
  return distance(column(values), column(targets), problem).item<double>();
}

std::pair<at::Tensor, at::Tensor> gradients(const at::Tensor& values, const at::Tensor& targets,
                                            const at::Tensor& incoming, const TransportTensors& problem) {
  const at::Tensor mu = values.detach().clone().requires_grad_();
  const at::Tensor gamma = targets.detach().clone().requires_grad_();
  const auto both = torch::autograd::grad({distance(mu, gamma, problem)}, {mu, gamma}, {incoming});
  return {both[0], both[1]};
}

// 0 - 1 - 2 - ..., every node labelled.
TransportTensors path_graph(int64_t nodes, const at::Tensor& costs) {
  const at::Tensor node = all_of(nodes);
  return {node, node.slice(0, 0, nodes - 1), node.slice(0, 1), costs, nodes};
}

// Node 0 in the middle.
TransportTensors star_graph(int64_t leaves, const at::Tensor& costs, const at::Tensor& labelled) {
  const at::Tensor leaf = all_of(leaves + 1).slice(0, 1);
  return {labelled, at::zeros_like(leaf), leaf, costs, leaves + 1};
}

// Some nodes of a random graph in random order, random costs and values: the optimum is unique almost surely.
// The slack is for labelled nodes that are alone.
struct Setting {
  TransportTensors problem;
  at::Tensor values, targets;

  explicit Setting(int64_t nodes, int64_t columns, bool directed = false, double share = 0.6) {
    at::manual_seed(nodes * 100 + columns);
    const Graph graph = generate("csbm:nodes=" + std::to_string(nodes) + ",degree=4,features=0").graph;
    const IncidenceTensors tensors = test::incidence_tensors(graph);
    const auto count = static_cast<int64_t>(share * static_cast<double>(nodes));
    problem = {at::randperm(nodes, at::TensorOptions(at::kInt)).slice(0, 0, count).contiguous(),
               tensors.heads.to(test::device()),
               tensors.tails.to(test::device()),
               at::rand({graph.num_edges()}, at::kDouble) + 0.2,
               nodes,
               directed,
               3.0};
    values = at::randn({count, columns}, at::kDouble);
    targets = at::randn({count, columns}, at::kDouble);
  }
};

TEST(Wasserstein1Partial, OfTwoNodesIsCostTimesDifference) {
  TransportTensors problem{ids({0, 1}), ids({0}), ids({1}), numbers({2.5}), 2};
  EXPECT_DOUBLE_EQ(distance_of({3, -1}, {-1, 3}, problem), 10.0);
  EXPECT_DOUBLE_EQ(distance_of({-1, 3}, {3, -1}, problem), 10.0);
  EXPECT_EQ(distance_of({7, -2}, {7, -2}, problem), 0.0);
  problem.costs = numbers({});
  EXPECT_DOUBLE_EQ(distance_of({3, -1}, {-1, 3}, problem), 4.0);
  problem.labelled = ids({1});  // node 0 gives what node 1 needs
  EXPECT_DOUBLE_EQ(distance_of({1}, {4}, problem), 3.0);
  const auto [of_values, of_targets] = gradients(column({1}), column({4}), numbers({2}), problem);
  EXPECT_TRUE(at::equal(of_values, column({-2})));
  EXPECT_TRUE(at::equal(of_targets, column({2})));
}

// What has to pass an edge of a path is what lies on one side of it: sum over edges of cost * |sum so far|.
TEST(Wasserstein1Partial, OfAPathIsTheSumOfCumulatedDifferences) {
  for (const int64_t nodes : {2, 3, 10, 200}) {
    at::manual_seed(nodes);
    const TransportTensors problem = path_graph(nodes, at::rand({nodes - 1}, at::kDouble) + 0.1);
    const at::Tensor values = at::randn({nodes, 4}, at::kDouble);
    const at::Tensor noise = at::randn({nodes, 4}, at::kDouble);
    const at::Tensor targets = values + noise - noise.mean(0, true);
    const at::Tensor passing = (targets - values).cumsum(0).slice(0, 0, nodes - 1);
    const at::Tensor expected = (problem.costs.unsqueeze(1) * passing.abs()).sum(0);
    const auto [found, potential] = wasserstein1_partial(values, targets, problem);
    EXPECT_TRUE(at::allclose(found, expected, 1e-9, 1e-12)) << nodes;
    // p[head] - p[tail] is the cost, with the sign of the flow.
    const at::Tensor steps = potential.slice(0, 0, nodes - 1) - potential.slice(0, 1);
    EXPECT_TRUE(at::allclose(steps, problem.costs.unsqueeze(1) * passing.sign(), 1e-9, 1e-12)) << nodes;
  }
}

TEST(Wasserstein1Partial, OfAStarIsTheSumOverItsLeaves) {
  at::manual_seed(3);
  const at::Tensor costs = at::rand({6}, at::kDouble) + 0.1;
  const at::Tensor values = at::randn({7, 3}, at::kDouble);
  at::Tensor targets = at::randn({7, 3}, at::kDouble);
  const at::Tensor differences = (targets - values).slice(0, 1);
  const at::Tensor expected = (costs.unsqueeze(1) * differences.abs()).sum(0);
  // A free centre: each leaf has its own way out, and its potential is what that costs.
  const auto [found, potential] = wasserstein1_partial(
      values.slice(0, 1), targets.slice(0, 1), star_graph(6, costs, all_of(7).slice(0, 1).contiguous()));
  EXPECT_TRUE(at::allclose(found, expected, 1e-9, 1e-12));
  EXPECT_TRUE(at::allclose(potential, costs.unsqueeze(1) * differences.sign(), 1e-9, 1e-12));
  targets[0] = values[0] - differences.sum(0);
  EXPECT_TRUE(
      at::allclose(distance(values, targets, star_graph(6, costs, all_of(7))), expected, 1e-9, 1e-12));
}

// Flow on a directed edge is never negative: it raises its head and lowers its tail.
TEST(Wasserstein1Partial, OnADirectedCycleMassGoesTheLongWay) {
  TransportTensors problem{ids({0, 1, 2}), ids({0, 1, 2}), ids({1, 2, 0}), numbers({1, 10, 100}), 3, true};
  EXPECT_DOUBLE_EQ(distance_of({0, 1, 0}, {1, 0, 0}, problem), 1.0);
  EXPECT_DOUBLE_EQ(distance_of({1, 0, 0}, {0, 1, 0}, problem), 110.0);
  problem.directed = false;
  EXPECT_DOUBLE_EQ(distance_of({1, 0, 0}, {0, 1, 0}, problem), 1.0);
}

TEST(Wasserstein1Partial, SelfLoopsCarryNothingAndTheCheapestParallelEdgeCounts) {
  const TransportTensors problem{ids({1, 0}), ids({0, 1, 0, 1}), ids({1, 1, 1, 0}), numbers({5, 0, 3, 4}), 2};
  EXPECT_DOUBLE_EQ(distance_of({0, 2}, {2, 0}, problem), 6.0);
}

TEST(Wasserstein1Partial, SlackPaysForWhatFindsNoWay) {
  TransportTensors problem{ids({0, 1}), ids({0}), ids({1}), numbers({1}), 2, false, 2.0};
  // One unit moves, two are made from nothing.
  EXPECT_DOUBLE_EQ(distance_of({0, 1}, {3, 0}, problem), 1 + 2 * 2.0);
  const auto [of_values, of_targets] = gradients(column({0, 1}), column({3, 0}), numbers({1}), problem);
  EXPECT_TRUE(at::allclose(of_values, column({-2, -1})));
  EXPECT_TRUE(at::allclose(of_targets, column({2, 1})));
  // Cheaper than the way: nothing moves.
  problem.slack = 0.25;
  EXPECT_DOUBLE_EQ(distance_of({0, 1}, {3, 0}, problem), 4 * 0.25);
  // Against the direction of the only edge.
  problem.slack = 2.0;
  problem.directed = true;
  EXPECT_DOUBLE_EQ(distance_of({0, 1}, {1, 0}, problem), 1.0);
  EXPECT_DOUBLE_EQ(distance_of({1, 0}, {0, 1}, problem), 4.0);
  // A node alone.
  const at::Tensor none = ids({});
  EXPECT_DOUBLE_EQ(distance_of({5}, {2}, {ids({1}), none, none, numbers({}), 3, false, 0.5}), 1.5);
}

TEST(Wasserstein1Partial, IsWhatTheTransportPlanSays) {
  for (const bool directed : {false, true}) {
    const Setting setting(120, 5, directed);
    const TransportTensors& problem = setting.problem;
    const auto ids_of = [](const at::Tensor& tensor) {
      const at::Tensor here = tensor.cpu();
      return std::vector<NodeId>(here.data_ptr<NodeId>(), here.data_ptr<NodeId>() + here.numel());
    };
    const auto numbers_of = [](const at::Tensor& tensor) {
      const at::Tensor here = tensor.cpu();
      return std::vector<double>(here.data_ptr<double>(), here.data_ptr<double>() + here.numel());
    };
    const Graph graph = Graph::build(
        {problem.num_nodes, ids_of(problem.heads), ids_of(problem.tails), numbers_of(problem.costs), {}},
        {.directed = directed});
    const std::vector<NodeId> labelled = ids_of(problem.labelled);
    const std::vector<TransportColumn> expected =
        TransportPlan(graph, labelled, problem.slack)
            .solve(numbers_of(setting.values), numbers_of(setting.targets), 5);
    const auto [found, potential] = wasserstein1_partial(setting.values, setting.targets, problem);
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(found[c].item<double>(), expected[c].distance);
      for (size_t row = 0; row < labelled.size(); ++row) {
        EXPECT_EQ(potential[row][c].item<double>(), expected[c].potential[labelled[row]]);
      }
    }
  }
}

TEST(Wasserstein1Partial, GradientsAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const bool directed : {false, true}) {
    for (const double share : {0.5, 1.0}) {
      const Setting setting(24, 3, directed, share);
      const at::Tensor weights = numbers({1.0, -2.0, 0.5});
      const auto loss = [&](const at::Tensor& values, const at::Tensor& targets) {
        return distance(values, targets, setting.problem).dot(weights).item<double>();
      };
      const auto [of_values, of_targets] =
          gradients(setting.values, setting.targets, weights, setting.problem);
      EXPECT_GT(of_values.abs().sum().item<double>(), 1.0);
      for (int64_t k = 0; k < setting.values.numel(); ++k) {
        at::Tensor step = at::zeros_like(setting.values);
        step.view(-1)[k] = kStep;
        const double by_values =
            loss(setting.values + step, setting.targets) - loss(setting.values - step, setting.targets);
        const double by_targets =
            loss(setting.values, setting.targets + step) - loss(setting.values, setting.targets - step);
        EXPECT_NEAR(of_values.view(-1)[k].item<double>(), by_values / (2 * kStep), 1e-6) << directed << k;
        EXPECT_NEAR(of_targets.view(-1)[k].item<double>(), by_targets / (2 * kStep), 1e-6) << directed << k;
      }
    }
  }
}

// Where every node is labelled and there is no slack, only steps that keep the balance have a distance.
TEST(Wasserstein1Partial, GradientAlongBalancedStepsNeedsNoSlack) {
  constexpr double kStep = 1e-5;
  Setting setting(34, 2, false, 1.0);
  const Graph karate = make_karate().graph;
  const IncidenceTensors tensors = test::incidence_tensors(karate);
  setting.problem.heads = tensors.heads.to(test::device());
  setting.problem.tails = tensors.tails.to(test::device());
  setting.problem.costs = at::rand({karate.num_edges()}, at::kDouble) + 0.2;
  setting.problem.slack = kInfinity;
  const auto balanced = [](const at::Tensor& any) { return any - any.mean(0, true); };
  const at::Tensor values = balanced(setting.values), targets = balanced(setting.targets);
  const at::Tensor ones = at::ones({2}, at::kDouble);
  const at::Tensor gradient = gradients(values, targets, ones, setting.problem).first;
  for (int trial = 0; trial < 10; ++trial) {
    const at::Tensor step = kStep * balanced(at::randn({34, 2}, at::kDouble));
    const at::Tensor change =
        distance(values + step, targets, setting.problem) - distance(values - step, targets, setting.problem);
    EXPECT_TRUE(at::allclose((gradient * step).sum(0) / kStep, change / (2 * kStep), 1e-6, 1e-6));
  }
}

// W is linear around its argument, so that the Hessian of W^2 is 2 p p^T.
TEST(Wasserstein1Partial, TheGradientMayBeDifferentiatedAgain) {
  const Setting setting(20, 1);
  const at::Tensor values = setting.values.clone().requires_grad_();
  const auto [found, potential] = wasserstein1_partial(values, setting.targets, setting.problem);
  const at::Tensor first = torch::autograd::grad({found.square().sum()}, {values}, {}, true, true)[0];
  const at::Tensor direction = at::randn_like(values);
  const at::Tensor second = torch::autograd::grad({(first * direction).sum()}, {values})[0];
  EXPECT_TRUE(at::allclose(second, 2 * potential * (potential * direction).sum(), 1e-9, 1e-9));
}

TEST(Wasserstein1Partial, OnlyTheDistanceHasAGradient) {
  const Setting setting(20, 2);
  const at::Tensor values = setting.values.clone().requires_grad_();
  const auto [found, potential] = wasserstein1_partial(values, setting.targets, setting.problem);
  EXPECT_TRUE(found.requires_grad());
  EXPECT_FALSE(potential.requires_grad());
  EXPECT_TRUE(at::equal(torch::autograd::grad({found.sum()}, {values})[0], -potential));
  const auto [alone, also] = wasserstein1_partial(setting.values, setting.targets, setting.problem);
  EXPECT_FALSE(alone.requires_grad());
  EXPECT_TRUE(at::equal(also, potential));
}

// Singles are solved as the doubles that they are.
TEST(Wasserstein1Partial, FloatIsRoundedOnlyAtTheEnd) {
  const Setting setting(60, 3);
  const at::Tensor values = setting.values.to(at::kFloat), targets = setting.targets.to(at::kFloat);
  const auto [found, potential] = wasserstein1_partial(values, targets, setting.problem);
  const auto [exact, exact_potential] =
      wasserstein1_partial(values.to(at::kDouble), targets.to(at::kDouble), setting.problem);
  EXPECT_TRUE(at::equal(found, exact.to(at::kFloat)));
  EXPECT_TRUE(at::equal(potential, exact_potential.to(at::kFloat)));
  const auto [of_values, of_targets] = gradients(values, targets, at::ones({3}), setting.problem);
  EXPECT_TRUE(at::equal(of_values, -potential));
  EXPECT_TRUE(at::equal(of_targets, potential));
  TransportTensors single_costs = setting.problem, double_costs = setting.problem;
  single_costs.costs = setting.problem.costs.to(at::kFloat);
  double_costs.costs = single_costs.costs.to(at::kDouble);
  EXPECT_TRUE(at::equal(distance(values, targets, single_costs), distance(values, targets, double_costs)));
}

TEST(Wasserstein1Partial, HowMatricesAreStoredDoesNotMatter) {
  const Setting setting(60, 3);
  const auto transposed = [](const at::Tensor& matrix) { return matrix.t().contiguous().t(); };
  const at::Tensor weights = at::stack({numbers({1, 2, 3}), numbers({4, 5, 6})}, 1).select(1, 0);
  TransportTensors stored = setting.problem;
  stored.costs = at::stack({stored.costs, stored.costs}, 1).select(1, 0);
  const auto [of_values, of_targets] = gradients(setting.values, setting.targets, weights, setting.problem);
  const auto [again, and_again] =
      gradients(transposed(setting.values), transposed(setting.targets), weights, stored);
  EXPECT_TRUE(at::equal(again, of_values));
  EXPECT_TRUE(at::equal(and_again, of_targets));
}

TEST(Wasserstein1Partial, NothingToMove) {
  const at::Tensor none = ids({}), no_costs = numbers({});
  for (const TransportTensors& problem :
       {TransportTensors{none, none, none, no_costs, 0}, TransportTensors{none, none, none, no_costs, 4},
        TransportTensors{none, ids({0, 1}), ids({1, 2}), no_costs, 4}}) {
    const at::Tensor values = at::empty({0, 3}).requires_grad_();
    const auto [found, potential] = wasserstein1_partial(values, at::empty({0, 3}), problem);
    EXPECT_TRUE(at::equal(found, at::zeros({3})));
    EXPECT_EQ(potential.sizes(), (std::vector<int64_t>{0, 3}));
    EXPECT_EQ(torch::autograd::grad({found.sum()}, {values})[0].sizes(), (std::vector<int64_t>{0, 3}));
  }
  const TransportTensors alone{ids({2, 0}), none, none, no_costs, 4};
  EXPECT_TRUE(at::equal(distance(at::ones({2, 3}), at::ones({2, 3}), alone), at::zeros({3})));
  const auto [no_columns, no_potential] = wasserstein1_partial(at::ones({2, 0}), at::ones({2, 0}), alone);
  EXPECT_EQ(no_columns.sizes(), std::vector<int64_t>{0});
  EXPECT_EQ(no_potential.sizes(), (std::vector<int64_t>{2, 0}));
}

TEST(Wasserstein1Partial, SameBitsForAnyNumberOfThreads) {
  const Setting setting(1500, 6);
  std::vector<at::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    const auto [found, potential] = wasserstein1_partial(setting.values, setting.targets, setting.problem);
    if (first.empty()) first = {found, potential};
    EXPECT_TRUE(at::equal(found, first[0]));
    EXPECT_TRUE(at::equal(potential, first[1]));
  }
}

TEST(Wasserstein1Partial, ChecksAlsoUnderInferenceMode) {
  const Setting setting(40, 2);
  const at::Tensor expected = distance(setting.values, setting.targets, setting.problem);
  const c10::InferenceMode mode;
  EXPECT_TRUE(at::equal(distance(setting.values, setting.targets, setting.problem), expected));
  EXPECT_NE(refusal([&] { distance(setting.values, setting.values.t(), setting.problem); }), "not refused");
}

struct Refused {
  at::Tensor values = at::zeros({3, 2}), targets = at::zeros({3, 2});
  TransportTensors problem{ids({0, 1, 3}), ids({0, 1}), ids({1, 2}), numbers({}), 4};
};

std::string refused(const std::function<void(Refused&)>& change) {
  Refused with;
  change(with);
  return refusal([&] { wasserstein1_partial(with.values, with.targets, with.problem); });
}

TEST(Wasserstein1Partial, RefusesShapesAndTypes) {
  const std::string op = "qw::wasserstein1_partial: ", on = " on " + test::device_name();
  EXPECT_EQ(refused([](Refused&) {}), "not refused");
  EXPECT_EQ(refused([](Refused& r) { r.problem.labelled = r.problem.labelled.to(at::kLong); }),
            op + "labelled must be one contiguous row of Int, got Long [3]");
  EXPECT_EQ(refused([](Refused& r) { r.problem.heads = r.problem.heads.unsqueeze(0); }),
            op + "heads must be one contiguous row of Int, got Int [1, 2]");
  EXPECT_EQ(refused([](Refused& r) { r.problem.tails = r.problem.tails.to(at::kFloat); }),
            op + "tails must be one contiguous row of Int, got Float [2]");
  EXPECT_EQ(refused([](Refused& r) { r.problem.tails = ids({1}); }),
            op + "heads has 2 edges but tails has 1");
  EXPECT_EQ(refused([](Refused& r) {
              r.values = at::zeros({4, 2});
            }),
            op + "values must be [3, C], a row for each labelled node, got [4, 2]");
  EXPECT_EQ(refused([](Refused& r) { r.values = r.values.to(at::kHalf); }),
            op + "values must be float32 or float64, got Half");
  EXPECT_EQ(refused([](Refused& r) {
              r.targets = at::zeros({3, 1});
            }),
            op + "targets must be [3, 2] of Float" + on + ", got [3, 1] of Float" + on);
  EXPECT_EQ(refused([](Refused& r) { r.targets = r.targets.to(at::kDouble); }),
            op + "targets must be [3, 2] of Float" + on + ", got [3, 2] of Double" + on);
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.costs = numbers({1, 2, 3});
            }),
            op + "costs must be [2] or [0] of float32 or float64" + on + ", got [3] of Double" + on);
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.costs = ids({1, 2});
            }),
            op + "costs must be [2] or [0] of float32 or float64" + on + ", got [2] of Int" + on);
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.costs = numbers({1, 2}).requires_grad_();
            }),
            op + "costs must not require a gradient, there is none; detach them");
  EXPECT_EQ(refused([](Refused& r) { r.problem.slack = 0; }),
            op + "slack must be positive, infinite for none, got 0");
  EXPECT_EQ(refused([](Refused& r) { r.problem.slack = std::nan(""); }),
            op + "slack must be positive, infinite for none, got nan");
}

TEST(Wasserstein1Partial, RefusesWhatIsNoGraph) {
  const std::string op = "qw::wasserstein1_partial: ";
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.labelled = ids({0, 1, 4});
            }),
            op + "labelled node 4 is not one of the graph's 4 nodes");
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.labelled = ids({0, 1, 0});
            }),
            op + "labelled node 0 is named twice");
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.heads = ids({0, -1});
            }),
            op + "edge 1 joins nodes 2 and -1, but nodes are 0 to 3");
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.costs = numbers({1, -2});
            }),
            op + "edge 1 costs -2; a cost is finite and not negative");
  EXPECT_EQ(refused([](Refused& r) { r.problem.num_nodes = -1; }),
            op + "a graph has 0 to 2147483646 nodes, not -1");
  EXPECT_EQ(refused([](Refused& r) { r.values[1][0] = kInfinity; }),
            op + "values must be finite, got inf in row 1, column 0");
  EXPECT_EQ(refused([](Refused& r) { r.targets[2][1] = std::nan(""); }),
            op + "targets must be finite, got nan in row 2, column 1");
}

TEST(Wasserstein1Partial, RefusesAColumnWithoutAFlow) {
  const std::string but =
      "qw::wasserstein1_partial: every part of the graph must be able to deliver, but in ";
  const std::string advice = " that finds no way; give a finite slack, the cost of such a unit";
  EXPECT_EQ(refused([](Refused& r) { r.targets[2][1] = 0.5; }),
            but +
                "column 1 the part with node 3 as its lowest, of 1 labelled nodes, has an imbalance of 0.5" +
                advice);
  EXPECT_EQ(refused([](Refused& r) {
              r.problem.labelled = ids({2, 1, 0});
              r.values[1][0] = 2;
            }),
            but + "column 0 the part with node 0 as its lowest, of 3 labelled nodes, has an imbalance of -2" +
                advice);
  EXPECT_EQ(refused([](Refused& r) {
              r.problem = {ids({0, 1, 2}), ids({0, 1}), ids({1, 2}), numbers({}), 3, true};
              r.values[0][0] = 1.5;
              r.targets[2][0] = 1.5;
            }),
            but +
                "column 0 the part with node 0 as its lowest, of 3 labelled nodes, has an imbalance of 1.5" +
                advice);
}

}  // namespace
}  // namespace qw
