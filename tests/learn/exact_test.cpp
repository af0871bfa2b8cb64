// Training with exact transport, and fitting the flow alone.
#include <gmock/gmock.h>

#include "core/file.h"
#include "learn/problem.h"
#include "learn/reloaded_predictions.h"
#include "qw/learn/run.h"
#include "qw/transport/wasserstein.h"
#include "support/torch/golden_models.h"

namespace qw {
namespace {

using test::copies_of;
using test::NamedTensors;
using test::Problem;
using test::small_problem;
using test::Training;

// Costs that are all different, so that optima are unique and the loss is differentiable.
Problem exact_problem() {
  Problem problem = small_problem("exact");
  problem.data.graph = test::rebuilt(problem.data.graph, false, [](EdgeList& edges) {
    const RandomStream stream(3, 3);
    for (size_t e = 0; e < edges.heads.size(); ++e) edges.costs.push_back(0.5 + stream.uniform(e));
  });
  problem.model_options.dropout = 0;
  problem.options.weight_decay = 0;
  return problem;
}

// The loss of these parameters, and no step.
double loss_at(const Training& training, const NamedTensors& parameters) {
  const auto learner = make_learner(training.input());
  std::vector<Buffer> state = learner->state();
  for (Buffer& each : state) {
    each.value = parameters.contains(each.name) ? parameters.at(each.name) : each.value.contiguous().clone();
  }
  learner->restore(state, {0, 0}, "test");
  return learner->step(0).loss;
}

void expect_gradient_is_the_slope(const Problem& problem) {
  const Training training(problem);
  const auto learner = make_learner(training.input());
  NamedTensors parameters;
  for (const Parameter& each : learner->model().parameters().all())
    parameters[each.name] = each.value.detach().clone();
  learner->step(0);
  const NamedTensors after = copies_of(learner->state());
  for (const auto& [name, value] : parameters) {
    const at::Tensor gradient = after.at("adam.first." + name) * 10.0;
    for (const int64_t at : {int64_t{0}, value.numel() / 2}) {
      const auto slope_with = [&](double step) {
        NamedTensors moved = parameters;
        double ends[2];
        for (const int side : {0, 1}) {
          moved[name] = value.contiguous().clone();
          moved[name].reshape(-1)[at] += side == 0 ? -step : step;
          ends[side] = loss_at(training, moved);
        }
        return (ends[1] - ends[0]) / (2 * step);
      };
      EXPECT_NEAR(gradient.reshape(-1)[at].item<double>(), slope_with(1e-6), 1e-6) << name << " " << at;
    }
  }
}

TEST(Exact, GradientIsTheSlopeOfTheDistance) {
  expect_gradient_is_the_slope(exact_problem());
  Problem values = exact_problem();
  values.data.targets = test::smooth_values(values.data.features, 1);
  expect_gradient_is_the_slope(values);
  Problem labels = exact_problem();
  labels.data.targets = test::signs_of_features(labels.data.features, 2);
  expect_gradient_is_the_slope(labels);
}

TEST(Exact, LossIsTheDistanceOverTheLabels) {
  Problem problem = exact_problem();
  const Training training(problem);
  const auto learner = make_learner(training.input());
  const at::Tensor said = learner->predict().network;
  std::vector<double> mu, gamma;
  for (const NodeId node : problem.split.train) {
    for (int64_t c = 0; c < 3; ++c) {
      mu.push_back(said[node][c].item<double>());
      gamma.push_back(problem.data.targets.classes[node] == c ? 1 : 0);
    }
  }
  double slack = 0;
  for (const double cost : problem.data.graph.costs()) slack = std::max(slack, cost);
  double expected = 0;
  const TransportPlan plan(problem.data.graph, problem.split.train, slack);
  for (const TransportColumn& column : plan.solve(mu, gamma, 3)) expected += column.distance;
  EXPECT_NEAR(learner->step(0).loss, expected / static_cast<double>(problem.split.train.size()), 1e-12);
}

TEST(Exact, FlowBringsTheTrainingNodesToTheirLabels) {
  Problem problem = exact_problem();
  const Training training(problem);
  const auto learner = make_learner(training.input());
  learner->step(0);
  const Scores scores = learner->predict();
  EXPECT_TRUE(scores.in_label_space);
  EXPECT_LE((scores.network.sum(1) - 1).abs().max().item<double>(), 1e-12);
  const at::Tensor sum = scores.sum();
  for (const NodeId node : problem.split.train) {
    const bool alone = problem.data.graph.out().degree(node) == 0;
    for (int64_t c = 0; c < 3 && !alone; ++c) {
      EXPECT_NEAR(sum[node][c].item<double>(), problem.data.targets.classes[node] == c ? 1 : 0, 1e-9) << node;
    }
  }
  EXPECT_LE(learner->flow()->summary().violation, 1e-9);
}

TEST(Exact, SolvesAsOftenAsAsked) {
  Problem problem = exact_problem();
  problem.options.solve_every = 3;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  std::vector<double> losses;
  std::vector<at::Tensor> transported;
  for (int64_t epoch = 0; epoch < 6; ++epoch) {
    losses.push_back(learner->step(epoch).loss);
    transported.push_back(learner->predict().transport.clone());
  }
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_NE(losses[0], losses[3]);
  EXPECT_TRUE(test::same_bits(transported[0], transported[2]));
  EXPECT_FALSE(test::same_bits(transported[0], transported[3]));
}

TEST(Exact, LearnsAndIsNoTroubleWhereNothingFlows) {
  Problem problem = exact_problem();
  problem.data.graph = test::rebuilt(problem.data.graph, false, [](EdgeList& edges) {
    edges.heads.resize(20);
    edges.tails.resize(20);
  });
  problem.options.lr = 0.05;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  const double before = learner->step(0).loss;
  for (int64_t epoch = 1; epoch < 60; ++epoch) learner->step(epoch);
  EXPECT_LT(learner->step(60).loss, 0.8 * before);
}

TEST(Exact, ProbabilitiesAreCutToWhatTheyMayBe) {
  Scores scores{at::tensor({0.5, 0.5, 0.25, 0.75}, at::kDouble).view({2, 2}),
                at::tensor({0.75, -0.75, 0.0, 0.0}, at::kDouble).view({2, 2}), true};
  const at::Tensor classes = probabilities(Divergence::kSoftmax, scores);
  EXPECT_NEAR(classes[0][0].item<double>(), 1, 1e-5);
  EXPECT_GT(classes[0][1].item<double>(), 0);
  EXPECT_NEAR(classes.sum(1)[0].item<double>(), 1, 1e-12);
  EXPECT_NEAR(classes[1][0].item<double>(), 0.25, 1e-12);
  EXPECT_NEAR(probabilities(Divergence::kBernoulli, scores)[1][1].item<double>(), 0.75, 1e-12);
  scores.in_label_space = false;
  EXPECT_NEAR(probabilities(Divergence::kBernoulli, scores)[1][0].item<double>(), 1 / (1 + std::exp(-0.25)),
              1e-12);
}

std::string refusal_of(const Problem& problem) {
  const Training training(problem);
  return test::error_of([&] { make_learner(training.input())->step(0); });
}

TEST(Exact, SaysWhatItCannotDo) {
  Problem problem = exact_problem();
  problem.options.edge_weights = true;
  EXPECT_EQ(
      refusal_of(problem),
      "--edge-weights are predicted from a flow that is learned; solver exact computes it, use bregman");
  problem = exact_problem();
  problem.options.balanced = true;
  EXPECT_EQ(refusal_of(problem), "--balanced weighs a divergence, which solver exact has not; use bregman");
  problem = exact_problem();
  problem.data.targets = test::smooth_values(problem.data.features, 1);
  for (const NodeId node : problem.split.train) problem.data.targets.values[node] = NAN;
  EXPECT_EQ(refusal_of(problem), "no training node has all its labels");
  problem = exact_problem();
  problem.type = at::kFloat;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  for (const Parameter& each : learner->model().parameters().all()) each.value.detach().fill_(NAN);
  EXPECT_EQ(test::error_of([&] { learner->step(0); }),
            "the network's predictions are not finite any more; a smaller learning rate may help");
}

TrainRequest small_request(const std::string& solver) {
  TrainRequest request;
  request.data = "in memory";
  request.model_options.hidden = 8;
  request.learn.solver = solver;
  request.learn.epochs = 20;
  request.learn.lambda = 10;
  request.seed = 5;
  request.runs = 2;
  request.split = "random:train=0.5,val=0.25";
  return request;
}

TrainRequest refitting(const TrainRequest& earlier, const std::filesystem::path& folder,
                       const std::string& solver) {
  TrainRequest request = earlier;
  request.refit_flow = folder.string();
  request.learn.solver = solver;
  request.learn.epochs = 3000;
  return request;
}

TEST(RefitFlow, FollowsLabelsThatChangedAndLeavesTheNetworkAlone) {
  const test::TemporaryFolder folder;
  Dataset data = exact_problem().data;
  const TrainRequest request = small_request("ce");
  train(data, request, folder.path() / "first");
  const Split split = split_of(request, data, 0);
  for (const NodeId node : split.train) data.targets.classes[node] = (data.targets.classes[node] + 1) % 3;
  const TrainRequest again = refitting(request, folder.path() / "first", "exact");
  const std::vector<RunResult> results = train(data, again, folder.path() / "second");
  EXPECT_EQ(results[0].epochs, 1);
  EXPECT_EQ(results[0].train.front().second, 1.0);  // accuracy on labels that the network never saw
  for (const char* run : {"run-0", "run-1"}) {
    EXPECT_EQ(read_file(folder.path() / "second" / run / "model.safetensors"),
              read_file(folder.path() / "first" / run / "model.safetensors"));
  }
  const Reloaded reloaded =
      reload(folder.path() / "second/run-0", again, read_memory(folder.path() / "second"), data);
  EXPECT_EQ(test::predictions_of(data, again, reloaded),
            read_file(folder.path() / "second/run-0/predictions.csv"));
}

TEST(RefitFlow, ByProximalStepsEndsAtTheOptimumOfTheConvexProblem) {
  const test::TemporaryFolder folder;
  const Dataset data = exact_problem().data;
  const TrainRequest request = small_request("bregman");
  train(data, request, folder.path() / "first");
  const auto refit = [&](const std::string& solver, double rate, const char* name) {
    TrainRequest again = refitting(request, folder.path() / "first", solver);
    again.learn.flow_lr = rate;
    return train(data, again, folder.path() / name);
  };
  const std::vector<RunResult> slow = refit("proximal", 0.002, "slow"),
                               fast = refit("proximal", 0.01, "fast");
  for (size_t run = 0; run < 2; ++run) {
    EXPECT_LE(fast[run].flow->violation, 1e-4);
    EXPECT_LT(fast[run].epochs, 3000);
    EXPECT_NEAR(slow[run].flow->l1, fast[run].flow->l1, 2e-2 * fast[run].flow->l1);
    EXPECT_LT(fast[run].flow->nonzeros, fast[run].flow->entries);
  }
}

TEST(RefitFlow, KeepsTheUnitsOfTheNetwork) {
  const test::TemporaryFolder folder;
  Dataset data = exact_problem().data;
  data.targets = test::smooth_values(data.features, 1);
  const TrainRequest request = small_request("mse");
  const std::vector<RunResult> first = train(data, request, folder.path() / "first");
  for (double& value : data.targets.values) value += 100;
  const TrainRequest again = refitting(request, folder.path() / "first", "exact");
  const std::vector<RunResult> second = train(data, again, folder.path() / "second");
  EXPECT_EQ(second[0].scaling.mean(), first[0].scaling.mean());
  EXPECT_NEAR(second[0].train.front().second, 1.0, 1e-6);  // R2
}

TEST(RefitFlow, SaysWhatCannotBe) {
  const test::TemporaryFolder folder;
  const Dataset data = exact_problem().data;
  const TrainRequest request = small_request("ce");
  const std::string first = folder.path() / "first";
  EXPECT_EQ(test::error_of([&] { train(data, refitting(request, first, "exact"), {}); }),
            first + " has no training whose flow could be refitted");
  train(data, request, first);
  const std::string summary = folder.path() / "first/run-0/summary.json";
  const std::string text = read_file(summary);
  std::filesystem::remove(summary);
  EXPECT_EQ(test::error_of([&] { train(data, refitting(request, first, "exact"), {}); }),
            first + "/run-0 is not finished: there is no network whose flow could be refitted");
  write_file_atomically(summary, text);
  EXPECT_EQ(test::error_of([&] { train(data, refitting(request, first, "ce"), {}); }),
            "solver ce has no flow to fit; use proximal or exact");
  EXPECT_EQ(test::error_of([&] { train(data, refitting(request, first, "badmm"), {}); }),
            "solver badmm learns the network; use proximal or exact to fit the flow alone");
  TrainRequest reading = refitting(request, first, "bregman");
  reading.learn.edge_weights = true;
  EXPECT_EQ(test::error_of([&] { train(data, reading, {}); }),
            "a network with --edge-weights reads the flow; it cannot stay fixed");
}

}  // namespace
}  // namespace qw
