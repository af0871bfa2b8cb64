// The protocol: which epoch is kept, when learning stops, what a checkpoint holds, who may see which labels.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "core/file.h"
#include "learn/problem.h"
#include "nn/tensor_file.h"

namespace qw {
namespace {

using test::copies_of;
using test::expect_same_bits;
using test::expect_same_history;
using test::Problem;
using test::small_problem;
using test::Training;

TEST(Trainer, KeepsTheEpochWithTheLowestValidationLoss) {
  Problem problem = small_problem("bregman");
  problem.options.epochs = 40;
  problem.options.lr = 0.2;
  problem.options.flow_start = "zero";
  problem.options.flow_lr = 0.05;
  problem.options.lambda = 100;
  const Training training(problem);
  Trainer trainer(training.input());
  std::vector<test::NamedTensors> states;
  const auto copy = make_learner(training.input());
  for (int64_t k = 0; k < 40; ++k) {
    copy->step(k);
    states.push_back(copies_of(copy->predicting_state()));
  }
  trainer.run();
  ASSERT_EQ(trainer.history().size(), 40u);
  const auto lowest =
      std::min_element(trainer.history().begin(), trainer.history().end(),
                       [](const EpochRecord& a, const EpochRecord& b) { return a.val_loss < b.val_loss; });
  EXPECT_EQ(trainer.best_epoch(), lowest->epoch);
  EXPECT_LT(trainer.best_epoch(), 39);
  Learner& best = trainer.best();
  expect_same_bits(copies_of(best.predicting_state()), states[lowest->epoch]);
  const LabelTensors labels =
      label_tensors(problem.data.targets, problem.split.val, training.graph().options());
  EXPECT_EQ(best.validation_loss(best.predict(), labels).sum(), lowest->val_loss);
  EXPECT_TRUE(trainer.finished());
}

TEST(Trainer, ValidationLossIsTheMeanPlusTheCostOfTheFlow) {
  Problem problem = small_problem("bregman");
  problem.options.lambda = 3;
  problem.options.reduction = "sum";
  const Training training(problem);
  const auto learner = make_learner(training.input());
  learner->step(0);
  const Scores scores = learner->predict();
  const at::Tensor log_probability = at::log_softmax(scores.network + scores.transport, 1);
  double sum = 0;
  for (const NodeId node : problem.split.val) {
    sum -= log_probability[node][problem.data.targets.classes[node]].item<double>();
  }
  const double cost = learner->flow()->values().abs().sum().item<double>();
  const LabelTensors labels =
      label_tensors(problem.data.targets, problem.split.val, training.graph().options());
  EXPECT_NEAR(learner->validation_loss(scores, labels).sum(),
              cost + 3 * sum / static_cast<double>(problem.split.val.size()), 1e-9);
}

// By what epochs are compared: the loss, a metric that should be high, or one that should be low.
enum class ComparedBy { kLoss, kAccuracy, kLogLoss };

double worse_by(const EpochRecord& record, ComparedBy by) {
  if (by == ComparedBy::kLoss) return record.val_loss;
  return by == ComparedBy::kAccuracy ? -record.val_metric : record.val_metric;
}

// From the history alone: the first epoch past `patience` that is worse than the mean of those before it.
int64_t epoch_to_stop(const std::vector<EpochRecord>& history, int64_t patience, ComparedBy by) {
  for (int64_t epoch = patience + 1; epoch < static_cast<int64_t>(history.size()); ++epoch) {
    double sum = 0;
    for (int64_t k = 1; k <= patience; ++k) sum += worse_by(history[epoch - k], by);
    if (worse_by(history[epoch], by) > sum / static_cast<double>(patience)) return epoch;
  }
  return static_cast<int64_t>(history.size()) - 1;
}

class StoppingBy : public testing::TestWithParam<ComparedBy> {};

TEST_P(StoppingBy, StopsWhenValidationIsWorseThanTheMeanOfEpochsBeforeAndKeepsTheBest) {
  Problem problem = small_problem("ce");
  const ComparedBy by = GetParam();
  problem.options.select = by == ComparedBy::kLoss ? "loss" : "metric";
  if (by == ComparedBy::kLogLoss) problem.options.metric = "log_loss";
  problem.options.epochs = 120;
  problem.options.lr = 0.1;
  problem.options.patience = 0;
  const Training endless(problem);
  Trainer whole(endless.input());
  whole.run();
  ASSERT_EQ(whole.history().size(), 120u);
  bool stopped_early = false;
  for (const int64_t patience : {1, 2, 5, 10, 30, 500}) {
    problem.options.patience = patience;
    const Training training(problem);
    Trainer trainer(training.input());
    trainer.run();
    const int64_t last = epoch_to_stop(whole.history(), patience, by);
    EXPECT_EQ(trainer.history().back().epoch, last) << patience;
    stopped_early |= last > patience + 1 && last < 119;
    expect_same_history(trainer.history(), {whole.history().begin(), whole.history().begin() + last + 1});
    const auto best = std::min_element(
        trainer.history().begin(), trainer.history().end(),
        [&](const EpochRecord& a, const EpochRecord& b) { return worse_by(a, by) < worse_by(b, by); });
    EXPECT_EQ(trainer.best_epoch(), best->epoch);
  }
  EXPECT_TRUE(stopped_early);
}

INSTANTIATE_TEST_SUITE_P(Trainer, StoppingBy,
                         testing::Values(ComparedBy::kLoss, ComparedBy::kAccuracy, ComparedBy::kLogLoss),
                         [](const auto& param) {
                           return std::string(param.param == ComparedBy::kLoss       ? "Loss"
                                              : param.param == ComparedBy::kAccuracy ? "Accuracy"
                                                                                     : "LogLoss");
                         });

TEST(Trainer, RefusesToChooseByAMetricThatIsUndefined) {
  Problem problem = small_problem("ce");
  problem.options.select = "metric";
  problem.options.metric = "roc_auc";
  std::erase_if(problem.split.val, [&](NodeId node) { return problem.data.targets.classes[node] != 0; });
  const Training training(problem);
  Trainer trainer(training.input());
  EXPECT_EQ(
      test::error_of([&] { trainer.run(); }),
      "the roc_auc of the validation nodes is undefined (one class or one value only?), so that no epoch can "
      "be chosen by it; use --select loss, another --metric or another --split");
}

TEST(Trainer, MetricsThatHaveNoKernelAreMeasuredOnTheHost) {
  Problem problem = small_problem("ce");
  problem.options.metric = "roc_auc";
  const Training training(problem);
  Trainer trainer(training.input());
  EXPECT_FALSE(trainer.can_replay());
  trainer.run();
  EXPECT_EQ(trainer.history().size(), 12u);
  for (const EpochRecord& record : trainer.history()) {
    EXPECT_GE(record.val_metric, 0);
    EXPECT_LE(record.val_metric, 1);
  }
  problem.options.metric = "mae";
  const Training wrong(problem);
  EXPECT_THAT(test::error_of([&] { Trainer refused(wrong.input()); }),
              testing::HasSubstr("--metric 'mae' is unknown"));
}

TEST(Trainer, WithoutValidationNodesKeepsTheLastEpoch) {
  Problem problem = small_problem("bregman");
  problem.split.val.clear();
  problem.options.patience = 2;
  const Training training(problem);
  Trainer trainer(training.input());
  trainer.run();
  EXPECT_EQ(trainer.best_epoch(), 11);
  EXPECT_TRUE(std::isnan(trainer.history().back().val_metric));
}

struct CheckpointCase {
  const char* name;
  const char* solver;
  const char* model;
  const char* norm;
  bool edge_weights;
};

class Checkpoints : public testing::TestWithParam<CheckpointCase> {};

TEST_P(Checkpoints, AtAnyEpochGiveTheSameEnd) {
  const CheckpointCase& of = GetParam();
  Problem problem = small_problem(of.solver);
  problem.type = at::kFloat;
  problem.model = of.model;
  problem.model_options.norm = of.norm;
  problem.options.edge_weights = of.edge_weights;
  problem.options.epochs = 6;
  problem.options.lr = 0.1;
  problem.options.inner_steps = 2;
  const Training training(problem);
  Trainer whole(training.input());
  whole.run();
  const int64_t best_epoch = whole.best_epoch();
  const test::TemporaryFolder folder;
  whole.save_checkpoint(folder.path() / "whole");
  const test::NamedTensors best = copies_of(whole.best().predicting_state());
  const Scores scores = whole.best().predict();
  for (int64_t stop = 0; stop < 6; ++stop) {
    const auto path = folder.path() / "part";
    Trainer first(training.input());
    first.run([&](const EpochRecord& record) { return record.epoch < stop; });
    ASSERT_EQ(first.history().size(), static_cast<size_t>(stop) + 1);
    first.save_checkpoint(path);
    Trainer second(training.input());
    second.load_checkpoint(path);
    EXPECT_EQ(second.finished(), stop == 5);
    second.run();
    expect_same_history(second.history(), whole.history());
    EXPECT_EQ(second.best_epoch(), best_epoch);
    second.save_checkpoint(path);
    expect_same_bits(copies_of(read_tensors(path)), copies_of(read_tensors(folder.path() / "whole")));
    expect_same_bits(copies_of(second.best().predicting_state()), best);
    EXPECT_TRUE(test::same_bits(second.best().predict().network, scores.network));
    EXPECT_TRUE(test::same_bits(second.best().predict().transport, scores.transport));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, Checkpoints,
    testing::Values(CheckpointCase{"ce", "ce", "gcn", "none", false},
                    CheckpointCase{"ce_batch_norm", "ce", "gcn", "batch", false},
                    CheckpointCase{"bregman", "bregman", "gat", "none", false},
                    CheckpointCase{"bregman_edge_weights", "bregman", "gcn", "batch", true},
                    CheckpointCase{"proximal", "proximal", "chebnetii", "none", false},
                    CheckpointCase{"badmm", "badmm", "graphsage", "none", false},
                    CheckpointCase{"exact", "exact", "gcn", "batch", false},
                    CheckpointCase{"badmm_edge_weights", "badmm", "gcn", "batch", true},
                    CheckpointCase{"correct_and_smooth", "correct-and-smooth", "mlp", "none", false},
                    CheckpointCase{"gcn_lpa", "gcn-lpa", "gcn-lpa", "none", false}),
    [](const auto& param) { return std::string(param.param.name); });

std::string refusal_of(const Training& training, const std::vector<Buffer>& tensors,
                       const SafetensorsMetadata& metadata) {
  const test::TemporaryFolder folder;
  write_checked_tensors(folder.path() / "c", tensors, metadata);
  Trainer trainer(training.input());
  std::string error = test::error_of([&] { trainer.load_checkpoint(folder.path() / "c"); });
  const std::string place = (folder.path() / "c").string();
  EXPECT_TRUE(error.starts_with(place)) << error;
  return error.substr(std::min(place.size(), error.size()));
}

TEST(Trainer, RefusesWhatIsNoCheckpointOfIt) {
  const Training training(small_problem("ce"));
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "c";
  Trainer trainer(training.input());
  trainer.run([](const EpochRecord& record) { return record.epoch < 2; });
  trainer.save_checkpoint(path);
  const std::vector<Buffer> tensors = read_tensors(path);
  const SafetensorsMetadata metadata = SafetensorsFile::read(path).metadata();
  const auto changed = [&](const std::string& name, const std::string& value) {
    SafetensorsMetadata other = metadata;
    other[name] = value;
    return other;
  };
  EXPECT_EQ(refusal_of(training, tensors, {}), ": is no checkpoint: has no schema");
  EXPECT_EQ(refusal_of(training, tensors, changed("schema", "1")),
            ": schema 1 is not the 2 that this qw reads");
  for (const char* counts : {"", "7", "1 2 3", "1 x", "1 -2"}) {
    EXPECT_EQ(refusal_of(training, tensors, changed("counts", counts)),
              ": does not count the steps of network and flow");
  }
  for (const char* epoch : {"x", "-1", "3"}) {
    EXPECT_EQ(refusal_of(training, tensors, changed("best_epoch", epoch)),
              std::string(": best epoch ") + epoch + " is none of the 3 in its history");
  }
  std::string bytes = read_file(path);
  bytes.back() ^= 1;
  write_file_atomically(folder.path() / "flipped", bytes);
  EXPECT_EQ(
      test::error_of([&] { trainer.load_checkpoint(folder.path() / "flipped"); }),
      (folder.path() / "flipped").string() + ": is damaged, by its own checksum; remove it to begin again");
  std::vector<Buffer> fewer = tensors;
  std::erase_if(fewer, [](const Buffer& each) { return each.name == "history"; });
  EXPECT_EQ(refusal_of(training, fewer, metadata), ": has no tensor 'history'");
  fewer = tensors;
  std::erase_if(fewer, [](const Buffer& each) { return each.name == "best/conv1.bias"; });
  EXPECT_EQ(refusal_of(training, fewer, metadata), ": has no tensor 'conv1.bias'");
  Problem wider = small_problem("ce");
  wider.model_options.hidden = 9;
  const Training other(wider);
  EXPECT_THAT(refusal_of(other, tensors, metadata), testing::HasSubstr("' is [8"));
}

TEST(Trainer, NamesWhatIsNotFinite) {
  Problem problem = small_problem("ce");
  problem.type = at::kFloat;
  problem.options.lr = 1e30;
  const Training diverging(problem);
  Trainer trainer(diverging.input());
  EXPECT_EQ(test::error_of([&] { trainer.run(); }),
            "epoch 0: the validation loss is not finite; a smaller learning rate may help");
  problem.split.val.clear();
  const Training unseen(problem);
  Trainer blind(unseen.input());
  EXPECT_EQ(test::error_of([&] { blind.run(); }),
            "epoch 1: 'conv1.lin.weight' is not finite any more; a smaller learning rate may help");
  EXPECT_EQ(blind.history().size(), 1u);
  problem = small_problem("bregman");
  problem.options.flow_lr = 1e300;
  problem.options.lambda = 1e12;
  const Training flowing(problem);
  Trainer flooded(flowing.input());
  EXPECT_THAT(test::error_of([&] { flooded.run(); }), testing::HasSubstr("not finite"));
}

// Another class for every one of these nodes.
void change_labels(Problem& problem, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    problem.data.targets.classes[node] = (problem.data.targets.classes[node] + 1) % 3;
  }
}

class Leaks : public testing::TestWithParam<CheckpointCase> {};

TEST_P(Leaks, NothingLearnsFromLabelsOfTestAndValidation) {
  const CheckpointCase& of = GetParam();
  Problem problem = small_problem(of.solver);
  problem.model = of.model;
  problem.model_options.norm = of.norm;
  problem.options.edge_weights = of.edge_weights;
  problem.options.epochs = 8;
  problem.options.patience = 0;
  problem.options.balanced = std::string(of.solver) != "exact";
  const Training training(problem);
  Trainer trainer(training.input());
  trainer.run();
  const test::NamedTensors end = copies_of(trainer.best().predicting_state());
  const Scores scores = trainer.best().predict();

  Problem other_test = problem;
  change_labels(other_test, problem.split.test);
  const Training without_test(other_test);
  Trainer blind(without_test.input());
  blind.run();
  EXPECT_EQ(blind.best_epoch(), trainer.best_epoch());
  expect_same_bits(copies_of(blind.best().predicting_state()), end);
  EXPECT_TRUE(test::same_bits(blind.best().predict().network, scores.network));
  EXPECT_TRUE(test::same_bits(blind.best().predict().transport, scores.transport));

  Problem other_val = problem;
  change_labels(other_val, problem.split.val);
  const Training without_val(other_val);
  Trainer unguided(without_val.input());
  unguided.run();
  for (size_t k = 0; k < trainer.history().size(); ++k) {
    EXPECT_EQ(unguided.history()[k].loss, trainer.history()[k].loss) << k;
    EXPECT_EQ(unguided.history()[k].test_metric, trainer.history()[k].test_metric) << k;
    EXPECT_NE(unguided.history()[k].val_loss, trainer.history()[k].val_loss) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, Leaks,
    testing::Values(CheckpointCase{"ce", "ce", "gcn", "batch", false},
                    CheckpointCase{"bregman", "bregman", "gat", "none", false},
                    CheckpointCase{"bregman_edge_weights", "bregman", "gcn", "none", true},
                    CheckpointCase{"proximal", "proximal", "appnp", "none", false},
                    CheckpointCase{"badmm", "badmm", "gin", "none", false},
                    CheckpointCase{"exact", "exact", "gcn", "none", false},
                    CheckpointCase{"correct_and_smooth", "correct-and-smooth", "mlp", "none", false},
                    CheckpointCase{"gcn_lpa", "gcn-lpa", "gcn-lpa", "none", false}),
    [](const auto& param) { return std::string(param.param.name); });

class Threads : public testing::TestWithParam<CheckpointCase> {};

TEST_P(Threads, AnyNumberGivesTheSameBits) {
  const CheckpointCase& of = GetParam();
  Problem problem = small_problem(of.solver, 1500);
  problem.type = at::kFloat;
  problem.model = of.model;
  problem.model_options.norm = of.norm;
  problem.model_options.hidden = 16;
  problem.options.edge_weights = of.edge_weights;
  problem.options.epochs = 3;
  problem.options.inner_steps = 2;
  const int of_torch = at::get_num_threads();
  std::vector<test::NamedTensors> ends;
  std::vector<std::vector<EpochRecord>> histories;
  for (const int threads : {1, 2, 5}) {
    const test::ScopedThreads scope(threads);
    at::set_num_threads(threads);
    const Training training(problem);
    Trainer trainer(training.input());
    trainer.run();
    histories.push_back(trainer.history());
    ends.push_back(copies_of(trainer.best().state()));
    expect_same_history(histories.back(), histories.front());
    expect_same_bits(ends.back(), ends.front());
  }
  at::set_num_threads(of_torch);
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, Threads,
    testing::Values(CheckpointCase{"ce", "ce", "gcn", "batch", false},
                    CheckpointCase{"bregman", "bregman", "gat", "none", false},
                    CheckpointCase{"bregman_edge_weights", "bregman", "gcn", "layer", true},
                    CheckpointCase{"proximal", "proximal", "bernnet", "none", false},
                    CheckpointCase{"exact", "exact", "gcn", "none", false},
                    CheckpointCase{"badmm", "badmm", "graphsage", "none", false},
                    CheckpointCase{"correct_and_smooth", "correct-and-smooth", "mlp", "none", false},
                    CheckpointCase{"gcn_lpa", "gcn-lpa", "gcn-lpa", "none", false}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace qw
