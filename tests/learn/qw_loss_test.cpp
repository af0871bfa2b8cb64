// What the QW loss promises, on problems small or convex enough to know.
#include "learn/problem.h"

namespace qw {
namespace {

using test::convex_problem;
using test::copies_of;
using test::Problem;
using test::small_problem;
using test::Training;

// After this many steps: what the next one would minimise.
struct Outcome {
  StepReport report;
  test::NamedTensors state;
  std::optional<FlowSummary> flow;
};

Outcome trained(const Problem& problem, int64_t steps) {
  const Training training(problem);
  const auto learner = make_learner(training.input());
  for (int64_t k = 0; k < steps; ++k) learner->step(k);
  Outcome outcome;
  outcome.state = copies_of(learner->state());
  outcome.report = learner->step(steps);
  if (learner->flow() != nullptr) outcome.flow = learner->flow()->summary();
  return outcome;
}

// A learning rate that is lowered on the way, by going on with the state in a new learner.
Outcome annealed(Problem problem, int64_t steps) {
  std::vector<Buffer> state;
  std::vector<int64_t> counts;
  Outcome outcome;
  for (int phase = 0; phase < 5; ++phase) {
    const Training training(problem);
    const auto learner = make_learner(training.input());
    if (phase > 0) learner->restore(state, counts, "the phase before");
    for (int64_t k = 0; k < steps; ++k) outcome.report = learner->step(k);
    state.clear();
    for (const Buffer& each : learner->state()) state.push_back({each.name, each.value.clone()});
    counts = learner->counts();
    outcome.state = copies_of(state);
    if (learner->flow() != nullptr) outcome.flow = learner->flow()->summary();
    problem.options.lr /= 4;
    problem.options.flow_lr /= 4;
  }
  return outcome;
}

// The divergences of ce, of bregman and of badmm with its dual descend.
TEST(QwLoss, FitsTheTrainingLabelsBetterThanEveryNodeByItself) {
  const StepReport alone = annealed(convex_problem("ce"), 300).report;
  const StepReport approximate = annealed(convex_problem("bregman"), 600).report;
  Problem problem = convex_problem("badmm");
  problem.options.inner_steps = 2;
  problem.options.dual = "probability";
  const StepReport exact = annealed(problem, 150).report;
  EXPECT_GT(alone.divergence, 0.5);
  EXPECT_LT(approximate.divergence, 0.6 * alone.divergence);
  EXPECT_LT(approximate.loss, problem.options.lambda * alone.loss);
  EXPECT_LT(exact.divergence, approximate.divergence);
  problem.options.dual = "reset";  // the problem of bregman, by turns
  EXPECT_NEAR(annealed(problem, 300).report.loss, approximate.loss, 0.01 * approximate.loss);
  EXPECT_NEAR(trained(convex_problem("proximal"), 4000).report.loss, approximate.loss,
              0.01 * approximate.loss);
}

TEST(QwLoss, FitsValuesBetterThanEveryNodeByItself) {
  Problem problem = convex_problem("mse");
  problem.data.targets = test::smooth_values(problem.data.features, 2);
  const double alone = annealed(problem, 400).report.divergence;
  problem.options.solver = "bregman";
  EXPECT_LT(annealed(problem, 400).report.divergence, 0.9 * alone);
}

TEST(QwLoss, RestrictedAndFullFlowHaveTheSameOptimumWithExactZeros) {
  Problem problem = convex_problem("proximal");
  const Outcome restricted = trained(problem, 8000);
  problem.options.full_flow = true;
  problem.options.flow_start = "kaiming";  // from zero the other edges would never have carried anything
  const Outcome full = trained(problem, 8000);
  EXPECT_NEAR(restricted.report.loss, full.report.loss, 1e-5 * full.report.loss);
  EXPECT_LT(restricted.flow->violation, 5e-3);
  EXPECT_LT(full.flow->violation, 5e-3);
  EXPECT_GT(restricted.flow->nonzeros, 0);
  EXPECT_EQ(restricted.flow->nonzeros, full.flow->nonzeros);
  EXPECT_LT(restricted.flow->entries, full.flow->entries);
  EXPECT_LT(full.flow->nonzeros, full.flow->entries / 2);
}

TEST(QwLoss, WithTheFlowHeldAtZeroItIsCrossEntropy) {
  Problem problem = small_problem("ce");
  const Outcome expected = trained(problem, 6);
  problem.options.flow_lr = 0;
  problem.options.flow_start = "zero";
  for (const char* solver : {"bregman", "proximal"}) {
    problem.options.solver = solver;
    const Outcome outcome = trained(problem, 6);
    EXPECT_EQ(outcome.report.loss, expected.report.loss);
    for (const auto& [name, value] : expected.state) {
      EXPECT_TRUE(test::same_bits(outcome.state.at(name), value)) << solver << " " << name;
    }
  }
  problem.model_options.dropout = 0;
  problem.options.solver = "ce";
  const Outcome without_dropout = trained(problem, 6);
  problem.options.solver = "badmm";
  problem.options.dual = "reset";
  problem.options.inner_steps = 2;  // three epochs are as many steps of the network
  const Outcome outcome = trained(problem, 3);
  for (const auto& [name, value] : without_dropout.state) {
    EXPECT_TRUE(test::same_bits(outcome.state.at(name), value)) << name;
  }
}

TEST(QwLoss, FlowOfADirectedGraphIsNeverNegative) {
  for (const char* solver : {"bregman", "badmm", "proximal"}) {
    for (const char* start : {"zero", "kaiming"}) {
      Problem problem = small_problem(solver);
      problem.data.graph = test::rebuilt(problem.data.graph, true, [](EdgeList&) {});
      problem.options.flow_start = start;
      problem.options.lambda = 40;
      const Training training(problem);
      const auto learner = make_learner(training.input());
      EXPECT_GE(learner->flow()->values().min().item<double>(), 0.0);
      for (int64_t k = 0; k < 10; ++k) {
        learner->step(k);
        ASSERT_GE(learner->flow()->values().min().item<double>(), 0.0) << solver << " " << start;
      }
      EXPECT_GT(learner->flow()->values().max().item<double>(), 0.0);
    }
  }
}

// One labelled node 0 with the value y, edges to 1 and 2 that cost 0.5 and 2, and a network that says g and
// does not learn: w|F| + lambda (g + F - y)^2 has its minimum where the cheap edge carries y - g up to
// w / (2 lambda), and the dear one nothing.
TEST(QwLoss, FlowTakesTheCheapEdge) {
  Problem problem = small_problem("proximal");
  EdgeList edges = test::edge_list(45, {{0, 1}, {0, 2}, {1, 3}});
  edges.costs = {0.5, 2.0, 1.0};
  problem.data.graph = Graph::build(edges);
  problem.data.targets = value_targets(std::vector<double>(45, 3.0));
  problem.split = {{0}, {1}, {2, 3}};
  problem.model = "mlp";
  problem.options.lr = 0;
  problem.options.weight_decay = 0;
  problem.options.lambda = 2;
  problem.options.flow_lr = 0.02;
  problem.model_options.dropout = 0;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  const double g = learner->predict().network[0][0].item<double>();
  ASSERT_LT(g, 2.5);
  for (int64_t k = 0; k < 2000; ++k) learner->step(k);
  Flow& flow = *learner->flow();
  ASSERT_EQ(flow.carriers(), (std::vector<EdgeId>{0, 1}));
  const double expected = 3.0 - g - 0.5 / (2 * 2.0);
  EXPECT_NEAR(flow.values()[0][0].item<double>(), expected, 1e-4);
  EXPECT_EQ(flow.values()[1][0].item<double>(), 0.0);
  EXPECT_NEAR(flow.cost(), 0.5 * expected, 1e-4);
  const at::Tensor transported = learner->predict().transport;
  EXPECT_NEAR(transported[0][0].item<double>(), expected, 1e-4);
  EXPECT_NEAR(transported[1][0].item<double>(), -expected, 1e-4);
  EXPECT_EQ(transported[3][0].item<double>(), 0.0);
}

TEST(QwLoss, DearEdgesCarryNothing) {
  Problem problem = convex_problem("proximal");
  EXPECT_GT(trained(problem, 50).flow->nonzeros, 0);
  problem.data.graph = test::rebuilt(problem.data.graph, false,
                                     [](EdgeList& edges) { edges.costs.assign(edges.heads.size(), 1e3); });
  EXPECT_EQ(trained(problem, 50).flow->nonzeros, 0);
}

TEST(QwLoss, LambdaZeroLeavesOnlyTheCostOfTheFlow) {
  for (const char* solver : {"bregman", "proximal", "badmm"}) {
    Problem problem = small_problem(solver);
    problem.options.lambda = 0;
    problem.options.weight_decay = 0;
    problem.options.flow_start = "kaiming";
    const Training training(problem);
    const auto learner = make_learner(training.input());
    const test::NamedTensors before = copies_of(learner->predicting_state());
    const StepReport first = learner->step(0);
    EXPECT_NEAR(first.loss, before.at("flow").abs().sum().item<double>(), 1e-9);
    EXPECT_EQ(first.divergence, 0.0);
    for (const Buffer& each : learner->predicting_state()) {
      if (each.name.starts_with("flow")) continue;
      EXPECT_TRUE(test::same_bits(each.value, before.at(each.name))) << each.name;
    }
    EXPECT_LT(learner->step(1).loss, first.loss);
  }
}

TEST(QwLoss, IsolatedNodesOneLabelAndOneClassAreNoTrouble) {
  for (const char* solver : {"ce", "bregman", "proximal", "badmm"}) {
    Problem isolated = small_problem(solver);
    isolated.data.graph = Graph::build(test::edge_list(45, {}));
    const Outcome alone = trained(isolated, 3);
    EXPECT_TRUE(std::isfinite(alone.report.loss)) << solver;
    if (alone.flow) {
      EXPECT_EQ(alone.flow->entries, 0);
      EXPECT_EQ(alone.flow->l1, 0.0);
      EXPECT_EQ(alone.flow->quantiles, std::vector<double>(7, 0.0));
    }
    Problem one_label = small_problem(solver);
    one_label.split.train = {7};
    const Outcome single = trained(one_label, 3);
    EXPECT_TRUE(std::isfinite(single.report.loss)) << solver;
    if (single.flow) {
      EXPECT_EQ(single.flow->entries, 3 * static_cast<int64_t>(one_label.data.graph.out().degree(7)));
    }
    Problem one_class = small_problem(solver);
    one_class.data.targets = class_targets(std::vector<int32_t>(45, 0));
    EXPECT_EQ(trained(one_class, 3).report.divergence, 0.0) << solver;
  }
}

TEST(QwLoss, BalancedGivesEveryClassTheSameWeight) {
  Problem problem = small_problem("ce");
  problem.split.train = {0, 1, 2, 3, 4, 6, 9};
  problem.data.targets.classes[0] = problem.data.targets.classes[3] = problem.data.targets.classes[6] = 0;
  problem.model_options.dropout = 0;
  problem.options.balanced = true;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  const at::Tensor log_probability = at::log_softmax(learner->predict().network, 1);
  std::vector<double> sum(3, 0.0), count(3, 0.0);
  for (const NodeId node : problem.split.train) {
    const int32_t c = problem.data.targets.classes[node];
    sum[c] -= log_probability[node][c].item<double>();
    count[c] += 1;
  }
  double expected = 0;
  for (int c = 0; c < 3; ++c) {
    ASSERT_GT(count[c], 0);
    expected += sum[c] / count[c] / 3;
  }
  EXPECT_NEAR(learner->step(0).loss, expected, 1e-12);
}

TEST(QwLoss, SumIsTheMeanTimesTheLabels) {
  Problem problem = small_problem("ce");
  problem.data.targets = test::smooth_values(problem.data.features, 2);  // some are missing
  int64_t known = 0;
  for (const NodeId node : problem.split.train) {
    for (int64_t c = 0; c < 2; ++c) known += !std::isnan(problem.data.targets.values[node * 2 + c]);
  }
  const double mean = trained(problem, 0).report.loss;
  problem.options.reduction = "sum";
  EXPECT_NEAR(trained(problem, 0).report.loss, mean * static_cast<double>(known), 1e-9);
  EXPECT_LT(known, 2 * static_cast<int64_t>(problem.split.train.size()));
}

// The paper's regression of one-hot labels: lambda times the mean over nodes and classes, as they are.
TEST(QwLoss, OneHotValuesAreFittedByTheMeanOverNodesAndClasses) {
  for (const char* solver : {"mse", "bregman"}) {
    Problem problem = small_problem(solver);
    const Targets classes = problem.data.targets;
    problem.data.targets = one_hot(classes);
    problem.model_options.dropout = 0;
    problem.options.lambda = 7;
    const Training training(problem);
    const auto learner = make_learner(training.input());
    const at::Tensor predicted = learner->predict().sum().cpu();
    const double cost = learner->flow() == nullptr ? 0.0 : learner->flow()->cost();
    double squares = 0;
    for (const NodeId node : problem.split.train) {
      for (int64_t c = 0; c < 3; ++c) {
        const double error = predicted[node][c].item<double>() - (classes.classes[node] == c ? 1.0 : 0.0);
        squares += error * error;
      }
    }
    const double mean = squares / (3.0 * static_cast<double>(problem.split.train.size()));
    const StepReport report = learner->step(0);
    EXPECT_NEAR(report.divergence, mean, 1e-12 * mean);
    EXPECT_NEAR(report.loss, learner->flow() == nullptr ? mean : cost + 7 * mean, 1e-10);
  }
}

TEST(QwLoss, OtherTasksTrainAndImprove) {
  for (const char* solver : {"ce", "bregman", "proximal", "badmm"}) {
    for (const Task task : {Task::kRegression, Task::kMultiLabel}) {
      for (const char* dual : {"reset", "probability"}) {
        if (std::string(solver) != "badmm" && std::string(dual) != "reset") continue;
        Problem problem = small_problem(solver);
        problem.data.targets = task == Task::kRegression ? test::smooth_values(problem.data.features, 2)
                                                         : test::signs_of_features(problem.data.features, 3);
        for (double& value : problem.data.targets.values) {
          if (task == Task::kRegression) value = (value - 10.0) / 2;
        }
        problem.model = "graphsage";
        problem.model_options.dropout = 0;
        const bool carries = std::string(dual) != "reset";  // stable where the inner problems are solved well
        problem.options.lambda = carries ? 1 : 40;
        problem.options.flow_start = "zero";
        problem.options.inner_steps = carries ? 20 : 2;
        problem.options.dual = dual;
        const double before = trained(problem, 0).report.divergence;
        EXPECT_LT(trained(problem, 60).report.divergence, 0.8 * before)
            << solver << " " << task_name(task) << " " << dual;
      }
    }
  }
}

// On one arc 0 -> 1 label mass moves from 0 to 1: it can raise node 1 and lower node 0, and nothing else.
TEST(QwLoss, OnAnArcMassMovesFromTailToHead) {
  const auto transport = [](NodeId labelled, double label) {
    Problem problem = small_problem("proximal");
    GraphOptions directed;
    directed.directed = true;
    problem.data.graph = Graph::build(test::edge_list(2, {{0, 1}}), directed);
    problem.data.features = {2, 1, false, {0.0f, 0.0f}, {}, {}, {}, {}};
    problem.data.targets = value_targets({NAN, NAN});
    problem.data.targets.values[labelled] = label;
    problem.split = {{labelled}, {}, {}};
    problem.model = "mlp";
    problem.options.lr = 0;
    problem.options.flow_lr = 0.1;
    problem.options.lambda = 100;
    const Training training(problem);
    const auto learner = make_learner(training.input());
    for (int64_t epoch = 0; epoch < 300; ++epoch) learner->step(epoch);
    const at::Tensor transported = learner->predict().transport.to(at::kDouble).cpu();
    EXPECT_NEAR((transported[0] + transported[1]).item<double>(), 0, 1e-6) << "transport makes no mass";
    return transported[1].item<double>();
  };
  EXPECT_GT(transport(1, 5.0), 4) << "the head can be raised";
  EXPECT_EQ(transport(1, -5.0), 0) << "but not lowered";
  EXPECT_GT(transport(0, -5.0), 4) << "the tail can be lowered";
  EXPECT_EQ(transport(0, 5.0), 0) << "but not raised";
}

}  // namespace
}  // namespace qw
