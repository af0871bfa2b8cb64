// Captured epochs on a CUDA device: the same as epochs done one by one, and together the same as alone.
#include "learn/problem.h"
#include "qw/learn/metrics.h"

namespace qw {
namespace {

using test::copies_of;
using test::expect_same_bits;
using test::expect_same_history;
using test::Problem;
using test::small_problem;
using test::Training;

struct Case {
  const char* name;
  const char* solver;
  const char* model;
  const char* norm = "none";
  bool edge_weights = false;
  Task task = Task::kClassification;
  const char* select = "loss";
};

Problem problem_of(const Case& of, at::ScalarType type) {
  Problem problem = small_problem(of.solver);
  problem.type = type;
  problem.model = of.model;
  problem.model_options.norm = of.norm;
  problem.options.edge_weights = of.edge_weights;
  problem.options.select = of.select;
  problem.options.inner_steps = 2;
  problem.options.epochs = 30;
  problem.options.patience = 12;
  problem.options.lr = 0.1;
  if (of.task == Task::kRegression) {
    problem.data.targets = test::smooth_values(problem.data.features, 2);
    for (double& value : problem.data.targets.values) value = (value - 10.0) / 2;
  }
  if (of.task == Task::kMultiLabel) problem.data.targets = test::signs_of_features(problem.data.features, 3);
  return problem;
}

class CapturedEpochs : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!test::device().is_cuda())
      GTEST_SKIP() << "no CUDA device: epochs are captured there; QW_TEST_DEVICE=cuda";
  }
};

// The host's arithmetic for metrics: R2 may differ in its last bits.
void expect_close_history(const std::vector<EpochRecord>& actual, const std::vector<EpochRecord>& expected,
                          Task task) {
  if (task != Task::kRegression) return expect_same_history(actual, expected);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].loss, expected[i].loss);
    EXPECT_EQ(actual[i].val_loss, expected[i].val_loss);
    EXPECT_NEAR(actual[i].test_metric, expected[i].test_metric, 1e-6);
  }
}

TEST_P(CapturedEpochs, AreThoseDoneOneByOne) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Problem problem = problem_of(GetParam(), type);
    const Training training(problem);
    Trainer trainer(training.input());
    ASSERT_TRUE(trainer.can_replay());
    trainer.run({}, 7);
    const auto learner = make_learner(training.input());
    const LabelTensors labels =
        label_tensors(problem.data.targets, problem.split.val, training.graph().options());
    const MetricInfo& metric = find_metric(problem.data.targets.task, "auto");
    std::vector<EpochRecord> history;
    test::NamedTensors best;
    for (int64_t epoch = 0; epoch < static_cast<int64_t>(trainer.history().size()); ++epoch) {
      EpochRecord record;
      record.epoch = epoch;
      record.loss = learner->step(epoch).loss;
      const Scores scores = learner->predict();
      record.val_loss = learner->validation_loss(scores, labels).sum();
      record.train_metric = measure_one(problem.data.targets, problem.split.train, scores, metric);
      record.val_metric = measure_one(problem.data.targets, problem.split.val, scores, metric);
      record.test_metric = measure_one(problem.data.targets, problem.split.test, scores, metric);
      history.push_back(record);
      if (epoch == trainer.best_epoch()) best = copies_of(learner->predicting_state());
    }
    expect_close_history(trainer.history(), history, GetParam().task);
    EXPECT_GT(history.size(), 13u);
    expect_same_bits(copies_of(trainer.best().predicting_state()), best);
  }
}

TEST_P(CapturedEpochs, OfSeveralTrainingsAreThoseOfEachAlone) {
  std::vector<std::unique_ptr<Training>> trainings;
  std::vector<std::unique_ptr<Trainer>> together;
  std::vector<Trainer*> trainers;
  for (const int run : {0, 1, 2, 3, 4}) {
    Problem problem = problem_of(GetParam(), at::kFloat);
    problem.seed = 7 + run;
    problem.options.lr *= 1.0 + 0.3 * run;
    problem.options.lambda = 1.0 + run;
    problem.options.weight_decay *= run;
    problem.options.patience = run == 1 ? 3 : 12;
    if (run > 2) std::swap(problem.split.train, problem.split.test);
    if (run == 4) problem.split.train.pop_back();  // sizes differ, too
    trainings.push_back(std::make_unique<Training>(problem));
    together.push_back(std::make_unique<Trainer>(trainings.back()->input()));
    trainers.push_back(together.back().get());
  }
  run_together(trainers, std::vector<GoOn>(trainers.size()), 8);
  for (size_t run = 0; run < trainings.size(); ++run) {
    Trainer alone(trainings[run]->input());
    alone.run({}, 5);
    expect_same_history(together[run]->history(), alone.history());
    EXPECT_EQ(together[run]->best_epoch(), alone.best_epoch());
    EXPECT_TRUE(together[run]->finished());
    expect_same_bits(copies_of(together[run]->best().predicting_state()),
                     copies_of(alone.best().predicting_state()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, CapturedEpochs,
    testing::Values(
        Case{"ce_gcn", "ce", "gcn"}, Case{"ce_gcn_batch_norm", "ce", "gcn", "batch"},
        Case{"bregman_gcn", "bregman", "gcn"}, Case{"bregman_gat", "bregman", "gat"},
        Case{"bregman_gin_layer_norm", "bregman", "gin", "layer"},
        Case{"bregman_graphsage", "bregman", "graphsage"}, Case{"proximal_appnp", "proximal", "appnp"},
        Case{"bregman_bernnet", "bregman", "bernnet"}, Case{"bregman_chebnetii", "bregman", "chebnetii"},
        Case{"bregman_edge_weights", "bregman", "gcn", "none", true},
        Case{"bregman_gat_edge_weights", "bregman", "gat", "none", true},
        Case{"badmm_graphsage", "badmm", "graphsage"},
        Case{"badmm_edge_weights", "badmm", "gcn", "batch", true}, Case{"gcn_lpa", "gcn-lpa", "gcn-lpa"},
        Case{"correct_and_smooth", "correct-and-smooth", "gcn"},
        Case{"regression", "bregman", "gcn", "none", false, Task::kRegression},
        Case{"labels", "bregman", "gcn", "none", false, Task::kMultiLabel},
        Case{"by_metric", "ce", "gcn", "none", false, Task::kClassification, "metric"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace qw
