// The QW losses and their gradients as the published code has them, by one step of the learners themselves:
// after the first step of Adam the first moments are a tenth of the gradients.
#include "learn/problem.h"
#include "support/torch/golden_models.h"

#include "support/on_device.h"

namespace qw {
namespace {

using test::GoldenCase;
using test::NamedTensors;
using test::relative_error;

constexpr double kValue = 1e-9, kGradient = 1e-7;

test::Problem problem_of(const GoldenCase& golden, const std::string& loss) {
  test::Problem problem;
  problem.data.graph = golden.graph();
  problem.data.targets = golden.targets();
  if (loss.ends_with("ls") || loss == "mse") problem.data.targets = one_hot(problem.data.targets);
  problem.split.train = golden.train_nodes();
  problem.model = golden.model();
  problem.model_options = golden.options();
  problem.model_options.dropout = 0;
  problem.options.weight_decay = 0;
  problem.options.lambda = golden.lambda();
  problem.options.full_flow = true;
  problem.options.edge_weights = loss.starts_with("qw") && golden.has_predictor();
  return problem;
}

// The file's name of a parameter, its gradient under that name, and whose moments tell it here.
std::string name_in_file(const GoldenCase& golden, const std::string& own) {
  if (own == "flow") return golden.flow_name();
  return own.starts_with("edge_predictor.") ? golden.predictor_name(own) : own;
}

void start_from(const GoldenCase& golden, Learner& learner) {
  std::vector<Buffer> state = learner.state();
  for (Buffer& each : state) {
    const at::Tensor given =
        golden.tensor(each.name == "flow" ? "flow" : "param/" + name_in_file(golden, each.name), at::kDouble);
    each.value = given.defined() ? given : each.value.clone();
    if (each.name == "flow.measured") {
      each.value = at::zeros({3}, at::kDouble);
      each.value[0] = golden.tensor("flow", at::kDouble).abs().sum();
    }
  }
  learner.restore(state, {0, 0}, "golden");
}

std::string moment_of(const std::string& own) { return own == "flow" ? "flow.first" : "adam.first." + own; }

void expect_step(const GoldenCase& golden, const std::string& loss, const std::string& solver,
                 const std::string& dual = "reset") {
  test::Problem problem = problem_of(golden, loss);
  problem.options.solver = solver;
  problem.options.dual = dual;
  problem.options.inner_steps = 1;
  const test::Training training(problem, golden.tensor("x", at::kDouble));
  const auto learner = make_learner(training.input());
  start_from(golden, *learner);
  const Scores scores = learner->predict();
  EXPECT_LE(relative_error(scores.network, golden.tensor("logits", at::kDouble)), kValue);
  const bool flows = learner->flow() != nullptr;
  if (flows) {
    EXPECT_LE(
        relative_error(scores.network + scores.transport, golden.tensor("pred/transductive", at::kDouble)),
        kValue);
  }
  const double actual = learner->step(0).loss;
  const double expected = golden.tensor("loss/" + loss, at::kDouble).item<double>();
  EXPECT_NEAR(actual, expected, kValue * std::abs(expected));

  const NamedTensors state = test::copies_of(learner->state());
  NamedTensors gradients;
  double largest = 0;
  for (const auto& [name, value] : state) {
    const auto moment = state.find(moment_of(name));
    if (moment == state.end()) continue;
    gradients[name] = golden.tensor("grad/" + loss + "/" + name_in_file(golden, name), at::kDouble);
    ASSERT_TRUE(gradients[name].defined()) << name;
    largest = std::max(largest, gradients[name].abs().max().item<double>());
  }
  EXPECT_EQ(gradients.contains("flow"), flows);
  for (const auto& [name, gradient] : gradients) {
    if (solver == "badmm" && name == "flow") continue;  // of the network that moved already
    EXPECT_LE(relative_error(state.at(moment_of(name)) * 10.0, gradient, largest * 1e-6), kGradient)
        << loss << " " << solver << " " << name;
  }
}

class GoldenLosses : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenLosses, OneStepSeesThePublishedLossesAndGradients) {
  const GoldenCase golden(GetParam());
  expect_step(golden, "qw_kl", "bregman");
  expect_step(golden, "qw_ls", "bregman");
  expect_step(golden, "qw_kl", "badmm");
  expect_step(golden, "qw_ls", "badmm", "carried");
  if (golden.has_predictor()) return;  // without a flow there are no weights to predict
  expect_step(golden, "ce", "ce");
  expect_step(golden, "mse", "mse");
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLosses, testing::ValuesIn(test::golden_model_files()),
                         test::golden_file_name);

}  // namespace
}  // namespace qw
