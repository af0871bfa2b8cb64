// The published protocol: epochs, model selection, early stopping; and checkpoints, so that a killed run goes
// on as if nothing had happened.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "qw/learn/learner.h"
#include "qw/learn/metrics.h"

namespace qw {

// One epoch: a step, then an evaluation of what came out.
struct EpochRecord {
  int64_t epoch = 0;  // from 0
  double loss = 0;    // of the step
  double val_loss = 0;
  double train_metric = 0;
  double val_metric = 0;
  double test_metric = 0;
};

// After each epoch the model is evaluated. The epoch with the lowest validation loss is kept, where the loss
// of a QW solver includes the cost of its flow; learning stops after options.epochs, or when past epoch
// `patience` the validation loss exceeds the mean of the `patience` before it. Without validation nodes, and
// when only a flow is fitted to a fixed network, the last epoch is kept.
class Trainer {
 public:
  explicit Trainer(const LearnInput& input);

  // Runs epochs until the end, or until `go_on` says no; it is called after every epoch.
  void run(const std::function<bool(const EpochRecord&)>& go_on = {});
  bool finished() const { return finished_; }

  const std::vector<EpochRecord>& history() const { return history_; }
  int64_t best_epoch() const { return best_epoch_; }
  const std::vector<double>& step_milliseconds() const { return step_milliseconds_; }

  // The learner as it was at the best epoch; no more epochs after this.
  Learner& best();

  // The whole state in one file, and back: what follows has the same bits as without the interruption.
  void save_checkpoint(const std::filesystem::path& path) const;
  void load_checkpoint(const std::filesystem::path& path);

 private:
  EpochRecord run_epoch();
  void keep_if_best(const EpochRecord& record);
  bool should_stop(const EpochRecord& record) const;
  // Nothing to choose by, or nothing to choose: with a fixed network the flow is simply fitted.
  bool keeps_last() const { return input_.split.val.empty() || !input_.network_from.empty(); }
  void check_finite(const EpochRecord& record) const;

  LearnInput input_;
  std::unique_ptr<Learner> learner_;
  LabelTensors val_labels_;
  std::vector<EpochRecord> history_;
  int64_t best_epoch_ = -1;
  std::vector<Buffer> best_state_;
  std::vector<double> step_milliseconds_;  // of this process only
  bool finished_ = false;
};

}  // namespace qw
