// The duals of badmm and the label propagation of gcn-lpa, against what can be written down by hand.
#include <torch/csrc/autograd/autograd.h>

#include "learn/problem.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::copies_of;
using test::NamedTensors;
using test::Problem;
using test::relative_error;
using test::small_problem;
using test::Training;

Problem badmm_problem(const std::string& dual) {
  Problem problem = small_problem("badmm");
  problem.options.dual = dual;
  problem.options.lambda = 3;
  problem.options.inner_steps = 2;
  problem.options.weight_decay = 0;
  problem.model_options.dropout = 0;
  return problem;
}

at::Tensor labelled_rows(const Problem& problem) {
  at::Tensor rows = at::zeros({problem.data.graph.num_nodes(), 1}, at::kDouble);
  for (const NodeId node : problem.split.train) rows[node] = 1.0;
  return rows;
}

at::Tensor label_matrix(const Problem& problem) {
  at::Tensor rows = at::zeros({problem.data.graph.num_nodes(), problem.data.targets.width}, at::kDouble);
  for (const NodeId node : problem.split.train) rows[node][problem.data.targets.classes[node]] = 1.0;
  return rows;
}

at::Tensor prediction(Learner& learner) {
  const Scores scores = learner.predict();
  return scores.network + scores.transport;
}

TEST(Badmm, CarriedDualGainsLambdaTimesTheResidual) {
  const Problem problem = badmm_problem("carried");
  const Training training(problem);
  const auto learner = make_learner(training.input());
  at::Tensor expected = at::zeros({45, 3}, at::kDouble);
  EXPECT_TRUE(test::same_bits(copies_of(learner->state()).at("dual"), expected));
  for (int64_t k = 0; k < 3; ++k) {
    learner->step(k);
    expected = expected + 3.0 * (prediction(*learner) - label_matrix(problem)) * labelled_rows(problem);
    EXPECT_LE(relative_error(copies_of(learner->state()).at("dual"), expected), 1e-12);
  }
  EXPECT_GT(expected.abs().max().item<double>(), 0.1);
}

TEST(Badmm, ProbabilityDualGainsTheGradientOfTheDivergence) {
  const Problem problem = badmm_problem("probability");
  const Training training(problem);
  const auto learner = make_learner(training.input());
  at::Tensor expected = at::zeros({45, 3}, at::kDouble);
  for (int64_t k = 0; k < 3; ++k) {
    learner->step(k);
    const at::Tensor residual = at::softmax(prediction(*learner), 1) - label_matrix(problem);
    expected =
        expected + 3.0 / static_cast<double>(problem.split.train.size()) * residual * labelled_rows(problem);
    EXPECT_LE(relative_error(copies_of(learner->state()).at("dual"), expected), 1e-12);
  }
}

TEST(Badmm, ResetDualStaysZero) {
  const Training training(badmm_problem("reset"));
  const auto learner = make_learner(training.input());
  for (int64_t k = 0; k < 3; ++k) learner->step(k);
  EXPECT_EQ(copies_of(learner->state()).at("dual").abs().max().item<double>(), 0.0);
}

TEST(Badmm, MissingValuesCarryNoDual) {
  for (const char* dual : {"carried", "probability"}) {
    Problem problem = badmm_problem(dual);
    problem.data.targets = test::smooth_values(problem.data.features, 2);
    const Training training(problem);
    const auto learner = make_learner(training.input());
    for (int64_t k = 0; k < 2; ++k) learner->step(k);
    const at::Tensor z = copies_of(learner->state()).at("dual");
    const at::Tensor labelled = labelled_rows(problem);
    int64_t missing = 0;
    for (NodeId node = 0; node < 45; ++node) {
      for (int64_t c = 0; c < 2; ++c) {
        const bool known =
            labelled[node].item<double>() > 0 && !std::isnan(problem.data.targets.values[node * 2 + c]);
        EXPECT_EQ(z[node][c].item<double>() != 0.0, known) << dual << " " << node << " " << c;
        missing += labelled[node].item<double>() > 0 && !known;
      }
    }
    EXPECT_GT(missing, 0);
  }
}

// The bias of a GCN with one layer sees the sum of what all nodes see; an edge the difference of its ends.
TEST(Badmm, DualAddsToTheGradientsOfNetworkAndFlow) {
  Problem problem = badmm_problem("reset");
  problem.model_options.layers = 1;
  problem.options.inner_steps = 1;
  problem.options.lr = 0;
  problem.options.full_flow = true;
  const at::Tensor dual = at::sin(at::arange(45 * 3, at::kDouble)).reshape({45, 3}) * labelled_rows(problem);
  const Training training(problem);
  std::vector<NamedTensors> after;
  for (const double factor : {0.0, 1.0}) {
    const auto learner = make_learner(training.input());
    std::vector<Buffer> state = learner->state();
    for (Buffer& each : state) each.value = each.name == "dual" ? dual * factor : each.value.clone();
    learner->restore(state, learner->counts(), "test");
    learner->step(0);
    after.push_back(copies_of(learner->state()));
  }
  const at::Tensor on_bias = (after[1].at("adam.first.conv1.bias") - after[0].at("adam.first.conv1.bias"));
  EXPECT_LE(relative_error(on_bias * 10.0, dual.sum(0)), 1e-12);
  const at::Tensor on_flow = (after[1].at("flow.first") - after[0].at("flow.first")) * 10.0;
  EXPECT_LE(relative_error(on_flow, incidence_transpose(dual, training.graph().incidence())), 1e-12);
}

Problem lpa_problem(double weight, int64_t steps) {
  Problem problem = small_problem("gcn-lpa");
  problem.data.graph = Graph::build(
      test::edge_list(45, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {1, 7}}));  // 8 is alone
  problem.split = {{0, 2, 4, 8}, {1, 3}, {5, 6, 7}};
  problem.model = "gcn-lpa";
  problem.model_options.dropout = 0;
  problem.options.weight_decay = 0;
  problem.options.lpa_weight = weight;
  problem.options.lpa_steps = steps;
  return problem;
}

struct LpaStep {
  StepReport report;
  at::Tensor gradient;    // of the adjacency's scores
  at::Tensor scores;      // these
  SparsePattern pattern;  // where they stand
};

LpaStep lpa_step(double weight, int64_t steps) {
  const Training training(lpa_problem(weight, steps));
  const auto learner = make_learner(training.input());
  std::vector<Buffer> state = learner->state();
  LpaStep result;
  for (Buffer& each : state) {
    if (each.name == "adjacency")
      each.value = result.scores = at::sin(at::arange(each.value.size(0), at::kDouble));
  }
  learner->restore(state, learner->counts(), "test");
  result.pattern = learner->model().learned_adjacency({training.graph(), training.features(), {}}).pattern;
  result.report = learner->step(0);
  result.gradient = copies_of(learner->state()).at("adam.first.adjacency") * 10.0;
  return result;
}

TEST(GcnLpaSolver, AddsTheLossOfLabelPropagation) {
  for (const int64_t steps : {1, 3}) {
    const LpaStep without = lpa_step(0, steps), with = lpa_step(0.5, steps);
    const at::Tensor scores = with.scores.clone().requires_grad_();
    at::Tensor dense = at::full({45, 45}, -INFINITY, at::kDouble);
    const at::Tensor all_offsets = with.pattern.offsets.cpu(), all_columns = with.pattern.columns.cpu();
    const auto* offsets = all_offsets.data_ptr<int64_t>();
    const auto* columns = all_columns.data_ptr<int32_t>();
    for (int64_t row = 0; row < 45; ++row) {
      for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at) dense[row][columns[at]] = scores[at];
    }
    const at::Tensor adjacency = at::softmax(dense, 1);
    const Problem problem = lpa_problem(0, steps);
    const at::Tensor start = label_matrix(problem), labelled = labelled_rows(problem);
    at::Tensor labels = start;
    for (int64_t k = 0; k < steps; ++k) {
      if (k > 0) labels = at::where(labelled > 0, start, labels);
      labels = at::mm(adjacency, labels);
    }
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (const NodeId node : problem.split.train) {
      const at::Tensor row = labels[node];
      loss = loss - at::log(row[problem.data.targets.classes[node]] / row.sum()) / 4.0;
    }
    EXPECT_NEAR(with.report.loss - without.report.loss, 0.5 * loss.item<double>(), 1e-10);
    EXPECT_EQ(with.report.divergence, without.report.divergence);
    EXPECT_GT(loss.item<double>(), 0.01);
    const auto expected = torch::autograd::grad({loss * 0.5}, {scores});
    EXPECT_LE(relative_error(with.gradient - without.gradient, expected[0]), 1e-9) << steps;
  }
}

TEST(GcnLpaSolver, TrainsItsModel) {
  Problem problem = small_problem("gcn-lpa");
  problem.model = "gcn-lpa";
  problem.model_options.dropout = 0;
  const Training training(problem);
  const auto learner = make_learner(training.input());
  const double before = learner->step(0).loss;
  for (int64_t k = 1; k < 40; ++k) learner->step(k);
  EXPECT_LT(learner->step(40).loss, 0.8 * before);
}

std::string refusal_of(const Problem& problem) {
  const Training training(problem);
  return test::error_of([&] { make_learner(training.input())->step(0); });
}

TEST(Solvers, SayWhatTheyCannotDo) {
  Problem problem = small_problem("ce");
  problem.options.edge_weights = true;
  EXPECT_EQ(refusal_of(problem),
            "--edge-weights are predicted from the flow, which solver ce has not; use bregman");
  problem = lpa_problem(1, 1);
  problem.options.edge_weights = true;
  EXPECT_EQ(refusal_of(problem), "--edge-weights need a flow, which solver gcn-lpa has not");
  problem = lpa_problem(1, 1);
  problem.model = "gcn";
  EXPECT_EQ(refusal_of(problem), "solver gcn-lpa needs a model that learns its adjacency: --model gcn-lpa");
  problem.data.targets = test::smooth_values(problem.data.features, 1);
  EXPECT_EQ(refusal_of(problem), "solver gcn-lpa propagates classes; the target has none");
  EXPECT_EQ(refusal_of(small_problem("mse")), "solver mse is for values; the target has classes, use ce");
  problem = small_problem("ce");
  problem.split.train.clear();
  EXPECT_EQ(refusal_of(problem), "the split has no training nodes");
  problem = small_problem("ce");
  problem.data.targets = {};
  EXPECT_EQ(refusal_of(problem), "the data has no labels to learn from; name them with --target");
  problem = small_problem("ce");
  problem.data.targets = test::smooth_values(problem.data.features, 1);
  problem.options.balanced = true;
  EXPECT_EQ(refusal_of(problem), "--balanced needs classes");
  EXPECT_EQ(refusal_of(small_problem("sgd")),
            "solver 'sgd' is unknown; known: badmm, bregman, ce, correct-and-smooth, exact, gcn-lpa, "
            "label-propagation, mse, proximal");
}

TEST(Solvers, RefuseAStateThatIsNotTheirs) {
  const Training training(small_problem("bregman"));
  const auto learner = make_learner(training.input());
  EXPECT_EQ(test::error_of([&] { learner->restore(learner->state(), {1}, "file"); }),
            "file: does not count the steps of network and flow");
  std::vector<Buffer> state = learner->state();
  state.pop_back();
  EXPECT_EQ(test::error_of([&] {
              learner->restore(state, {1, 1}, "file");
            }),
            "file: has no tensor 'flow.second'");
}

}  // namespace
}  // namespace qw
