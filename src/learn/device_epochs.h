// A training's epochs on a CUDA device: step, evaluation, choice of the best epoch and early stopping
// captured as one piece of work, so that many epochs pass before the host looks.
#pragma once

#include <memory>
#include <vector>

#include "qw/learn/trainer.h"
#include "qw/ops/capture.h"
#include "qw/ops/epoch_end.h"
#include "qw/ops/step_clock.h"

namespace qw {

struct EpochLabels {
  LabelTensors train, val, test;
};

// The metrics of the three parts, [3] float64 on the device of the scores, which is a CUDA device.
at::Tensor epoch_metrics(Task task, const Scores& scores, const EpochLabels& labels);

class DeviceEpochs {
 public:
  // Goes on after `history`; the best state so far is in `best_state`, which every better epoch overwrites.
  // The learner must have taken steps before, so that what it makes once has been made.
  DeviceEpochs(Learner& learner, EpochLabels labels, Task task, const std::vector<EpochRecord>& history,
               int64_t best_epoch, const std::vector<Buffer>& best_state, const EpochRule& rule);

  const CapturedWork& work() const { return *work_; }
  int64_t left() const { return left_; }  // epochs for which there is room

  // Waits, and returns the epochs that the last `replays` replays of work() have brought: as many, or fewer
  // when the training ended before.
  std::vector<EpochRecord> take(int64_t replays);
  const EpochState& state() const { return state_; }  // as of the last take()

 private:
  void capture(const EpochLabels& labels, Task task, const std::vector<Buffer>& best_state);

  Learner& learner_;
  EpochRule rule_;
  int64_t first_row_;  // the epoch of the history's first
  EpochState state_;
  int64_t left_;
  std::vector<int64_t> counts_, increments_;  // of the learner's steps: now, and by epoch
  StepClock clock_;
  at::Tensor history_;  // [rows, 5]
  at::Tensor device_state_;
  at::Tensor none_;
  std::unique_ptr<CapturedWork> work_;
};

}  // namespace qw
