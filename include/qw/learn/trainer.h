// The published protocol: epochs, model selection, early stopping; and checkpoints, so that a killed run goes
// on as if nothing had happened.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "qw/core/epoch_rule.h"
#include "qw/core/export.h"
#include "qw/learn/learner.h"
#include "qw/learn/metrics.h"

namespace QW_PUBLIC qw {

// One epoch: a step, then an evaluation of what came out.
struct EpochRecord {
  int64_t epoch = 0;    // from 0
  double loss = 0;      // of the step
  double val_loss = 0;  // see ValidationLoss
  // LearnOptions::metric on each part.
  double train_metric = 0;
  double val_metric = 0;
  double test_metric = 0;
};

class DeviceEpochs;
class SafetensorsFile;
class CapturedWork;

// Asked after every epoch, in order.
using GoOn = std::function<bool(const EpochRecord&)>;

// After each epoch the model is evaluated. The epoch with the lowest validation loss is kept, where the loss
// of a QW solver includes the cost of its flow; learning stops after options.epochs, or when past epoch
// `patience` the validation loss exceeds the mean of the `patience` before it. With `select` "metric" the
// validation metric decides instead, options.metric: the first epoch of the best value is kept, and learning
// stops where it is worse than the mean. Without validation nodes, and when only a flow is fitted to a fixed
// network, the last epoch is kept.
class Trainer {
 public:
  // Makes the learner of input.options.solver; the input's references must outlive the trainer.
  explicit Trainer(const LearnInput& input);
  ~Trainer();

  // Runs epochs until the end, or until `go_on` says no. On a CUDA device epochs are captured and replayed,
  // up to `at_once` before `go_on` is asked about the first of them and ending at multiples of it: what comes
  // out is the same, and only after the last of them are learner and history in step. Throws qw::Error when
  // the loss is not finite any more.
  void run(const GoOn& go_on = {}, int64_t at_once = 1);
  // Whether no more epochs follow.
  bool finished() const { return finished_; }
  const std::string& failure() const { return failure_; }  // why it went wrong; empty: it did not
  // Whether its epochs can be captured: on a CUDA device, but for solvers that compute on the host and for
  // metrics that are measured there (all but the first of each task).
  bool can_replay() const;

  // One record for each epoch so far.
  const std::vector<EpochRecord>& history() const { return history_; }
  // From 0; -1 before the first.
  int64_t best_epoch() const { return best_epoch_; }
  // Of every epoch in this process: its step; of replayed ones the whole epoch, on average over those
  // replayed at once.
  const std::vector<double>& step_milliseconds() const { return step_milliseconds_; }

  // The learner as it was at the best epoch; no more epochs after this.
  Learner& best();

  // The whole state in one file, and back: what follows has the same bits as without the interruption.
  void save_checkpoint(const std::filesystem::path& path) const;
  void load_checkpoint(const std::filesystem::path& path);

  // The parts of run(). Epochs one by one, at most `most`; false when `go_on` said no or one failed.
  bool run_epochs(const GoOn& go_on, int64_t most);
  // Where can_replay(): the next epoch as work that can be replayed, replays_left() times, before it is
  // captured anew. Two epochs must have been run one by one before, so that what is made once has been made;
  // has_captured() says whether any was captured.
  const CapturedWork& captured_epoch();
  // Whether an epoch was captured, and how often it can still be replayed.
  bool has_captured() const { return device_epochs_ != nullptr; }
  int64_t replays_left() const;
  // Takes over what so many replays in so much time have brought; false as above.
  bool take_replays(int64_t replays, double milliseconds, const GoOn& go_on);

 private:
  EpochRecord run_epoch();
  SafetensorsFile read_checkpoint(const std::filesystem::path& path) const;
  void take_state(const SafetensorsFile& file, const std::vector<int64_t>& counts, const std::string& from);
  void measure_epoch(const Scores& scores, EpochRecord& record) const;
  void measure_parts(const Scores& scores, EpochRecord& record) const;  // losses and metrics of all together
  // [3]: of the training, validation and test nodes of all parts.
  at::Tensor accuracy_of_parts(const Scores& scores) const;
  at::Tensor metrics_at_first(const Scores& scores) const;
  double score_of(const EpochRecord& record) const;  // by the rule
  bool is_best(const EpochRecord& record) const;
  void keep_best();
  bool should_stop(const EpochRecord& record) const;
  // Nothing to choose by, or nothing to choose: with a fixed network the flow is simply fitted.
  bool keeps_last() const;
  bool by_metric() const { return input_.options.select == "metric"; }
  bool fails(const EpochRecord& record);  // and then it is finished
  bool has_device_metric() const;         // one that there is a kernel for

  LearnInput input_;
  const MetricInfo& metric_;
  EpochRule rule_;
  std::unique_ptr<Learner> learner_;
  LabelTensors train_labels_, val_labels_, test_labels_;
  std::vector<EpochRecord> history_;
  int64_t best_epoch_ = -1;
  std::vector<Buffer> best_state_;
  std::vector<double> step_milliseconds_;  // of this process only
  bool finished_ = false;
  std::string failure_;
  std::unique_ptr<DeviceEpochs> device_epochs_;
};

// Several trainings on one CUDA device: their epochs are launched together, and each has the result it would
// have alone, to the bit. `go_on` belongs to the trainer of the same place; the one that says no pauses. One
// that fails says so in failure(); nothing is thrown.
void run_together(const std::vector<Trainer*>& trainers, const std::vector<GoOn>& go_on, int64_t at_once);

}  // namespace qw
