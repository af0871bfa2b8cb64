#include "learn/device_epochs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <chrono>

#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int64_t kMostRows = 1 << 16;  // of epochs to come, in the device's memory at once
constexpr int64_t kEpochsBefore = 2;    // that run as they are, so that what is made once has been made

EpochMetric metric_of(Task task) {
  if (task == Task::kRegression) return EpochMetric::kR2;
  return task == Task::kMultiLabel ? EpochMetric::kMacroF1 : EpochMetric::kAccuracy;
}

at::Tensor rows_of(const std::vector<EpochRecord>& history, int64_t first, int64_t rows) {
  at::Tensor table = at::zeros({rows, kHistoryColumns}, at::kDouble);
  auto* out = table.data_ptr<double>();
  for (size_t epoch = first; epoch < history.size(); ++epoch) {
    const EpochRecord& r = history[epoch];
    for (const double value : {r.loss, r.val_loss, r.train_metric, r.val_metric, r.test_metric})
      *out++ = value;
  }
  return table;
}

// Weights are kept transposed.
at::Tensor as_stored(const at::Tensor& tensor) {
  return tensor.is_contiguous() || tensor.dim() != 2 ? tensor : tensor.t();
}

at::Device device_of(const Learner& learner) { return learner.predicting_state().front().value.device(); }

}  // namespace

at::Tensor epoch_metrics(Task task, const Scores& scores, const EpochLabels& labels) {
  return epoch_metrics(metric_of(task), scores.network, scores.transport, scores.in_label_space ? 0.5 : 0.0,
                       labels.train, labels.val, labels.test);
}

DeviceEpochs::DeviceEpochs(Learner& learner, EpochLabels labels, Task task,
                           const std::vector<EpochRecord>& history, int64_t best_epoch,
                           const std::vector<Buffer>& best_state, const EpochRule& rule)
    : learner_(learner), rule_(rule), counts_(learner.counts()), clock_(device_of(learner)) {
  const auto epoch = static_cast<int64_t>(history.size());
  first_row_ = std::max<int64_t>(0, epoch - rule.patience);
  left_ = std::min(rule.epochs - epoch, kMostRows);
  const at::Device device = device_of(learner);
  history_ = rows_of(history, first_row_, epoch - first_row_ + left_).to(device);
  state_.epochs = epoch;
  state_.best_epoch = best_epoch;
  if (best_epoch >= 0) {
    state_.best_score = rule.score(history[best_epoch].val_loss, history[best_epoch].val_metric);
  }
  device_state_ = epoch_state_tensor(state_, device);
  none_ = at::empty({0}, at::TensorOptions(at::kDouble).device(device));
  capture(labels, task, best_state);
}

void DeviceEpochs::capture(const EpochLabels& labels, Task task, const std::vector<Buffer>& best_state) {
  std::vector<at::Tensor> now, best;
  for (const Buffer& each : learner_.predicting_state()) now.push_back(as_stored(each.value));
  for (const Buffer& each : best_state) best.push_back(as_stored(each.value));
  const StepClock::InUse in_use(clock_);
  work_ = std::make_unique<CapturedWork>(device_of(learner_), [&] {
    const StepReport report = learner_.step(state_.epochs);
    const std::vector<int64_t> counts = learner_.counts();
    for (size_t i = 0; i < counts.size(); ++i) increments_.push_back(counts[i] - counts_[i]);
    const Scores scores = learner_.predict();
    const ValidationLoss loss = learner_.validation_loss(scores, labels.val);
    const at::Tensor metrics = epoch_metrics(task, scores, labels);
    epoch_end_(history_, device_state_,
               {report.loss.tensor(), loss.divergence, loss.flow_cost.defined() ? loss.flow_cost : none_, 1.0,
                metrics},
               rule_, clock_.counts(), {learner_.draws_per_epoch(), increments_[0], increments_[1]},
               first_row_);
    keep_if_(device_state_, EpochFlag::kBetter, now, best);
  });
  learner_.set_counts(counts_);
}

std::vector<EpochRecord> DeviceEpochs::take(int64_t replays) {
  const int64_t begin = state_.epochs;
  state_ = read_epoch_state(device_state_);
  const at::Tensor rows = history_.slice(0, begin - first_row_, state_.epochs - first_row_).cpu();
  const auto* row = rows.data_ptr<double>();
  std::vector<EpochRecord> records;
  for (int64_t epoch = begin; epoch < state_.epochs; ++epoch, row += kHistoryColumns) {
    records.push_back({epoch, row[0], row[1], row[2], row[3], row[4]});
  }
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += replays * increments_[i];
  learner_.set_counts(counts_);
  left_ -= replays;
  return records;
}

void run_together(const std::vector<Trainer*>& trainers, const std::vector<GoOn>& go_on, int64_t at_once) {
  std::vector<size_t> active;
  for (size_t i = 0; i < trainers.size(); ++i) {
    Trainer& trainer = *trainers[i];
    QW_ASSERT(trainer.can_replay());
    const bool goes_on = trainer.run_epochs(go_on[i], trainer.has_captured() ? 0 : kEpochsBefore);
    if (goes_on && !trainer.finished()) active.push_back(i);
  }
  std::unique_ptr<Replay> replay;
  std::vector<const CapturedWork*> replayed;
  while (!active.empty()) {
    std::vector<const CapturedWork*> works;
    int64_t epochs = at_once;
    for (const size_t i : active) {
      works.push_back(&trainers[i]->captured_epoch());
      const auto done = static_cast<int64_t>(trainers[i]->history().size());
      epochs = std::min({epochs, at_once - done % at_once, trainers[i]->replays_left()});
    }
    if (works != replayed) {
      replay.reset();
      replay = std::make_unique<Replay>(works);
      replayed = works;
    }
    const auto begin = std::chrono::steady_clock::now();
    replay->run(epochs);
    replay->wait();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    std::erase_if(active, [&](size_t i) {
      return !trainers[i]->take_replays(epochs, taken.count(), go_on[i]) || trainers[i]->finished();
    });
  }
}

}  // namespace qw
