// What ends an epoch, on the device that trains: metrics, the choice of the best epoch, early stopping, so
// that a captured epoch is replayed many times before the host looks. There are CUDA kernels only: on the CPU
// Trainer does the same. None of these has a gradient, waits for the device or reads from it, but for
// read_epoch_state.
//
// An epoch ends with
//   metrics = epoch_metrics(...); epoch_end_(history, state, ...);
//   keep_if_(state, EpochFlag::kBetter, parameters, best_parameters);
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "qw/core/epoch_rule.h"
#include "qw/core/export.h"
#include "qw/ops/divergence.h"

namespace QW_PUBLIC qw {

// Whether the functions below work for tensors there; elsewhere they must not be called.
bool has_epoch_kernels(const at::Device& device);

// What epoch_metrics() measures.
enum class EpochMetric : int64_t { kAccuracy, kMacroF1, kR2 };

// The first of measure() in qw/learn/metrics.h, for the train, val and test nodes: [3] float64, NaN where
// there is nothing to measure. Predicted is scores + shift: scores [N, C], float32 or float64, shift alike or
// [0], added in their type.
//   kAccuracy  labels by `classes`; negative: unknown, does not count. Of equal scores the first wins.
//   kMacroF1   labels by `targets`, 0 or 1, NaN: unknown. A label is predicted where the score is above
//              `threshold`: 0 for logits, 0.5 for probabilities.
//   kR2        labels by `targets`, NaN: unknown.
// `class_weights` are not looked at. The first two are exactly those of measure(); R2 to rounding, of the
// targets in the type of the scores. 2 launches. Throws c10::Error on shapes, types or devices that do not
// fit; nodes are trusted.
at::Tensor epoch_metrics(EpochMetric kind, const at::Tensor& scores, const at::Tensor& shift,
                         double threshold, const LabelTensors& train, const LabelTensors& val,
                         const LabelTensors& test);

// What is known of a training between epochs. On the device [7] float64, in the order of the fields; counts
// are whole numbers.
struct EpochState {
  int64_t epochs = 0;       // that have ended: the number of the next one
  bool counted = false;     // the last epoch_end_ counted: it was not stopped before
  bool better = false;      // the epoch that ended last is the best so far
  bool stopped = false;     // epochs that follow change nothing here
  bool broken = false;      // a loss was not finite; then also stopped
  int64_t best_epoch = -1;  // below 0: none yet
  double best_score = std::numeric_limits<double>::infinity();  // its val_loss, or minus its metric
};
constexpr int64_t kEpochStateSize = 7;
at::Tensor epoch_state_tensor(const EpochState& state, at::Device device);
EpochState read_epoch_state(const at::Tensor& state);  // waits for the device

// Columns of a history, one row for each epoch, float64: those of EpochRecord.
constexpr int64_t kHistoryColumns = 5;  // loss, val_loss, train, val, test metric

// What an epoch has come to; numbers are [] float64 on the device.
struct EpochResult {
  at::Tensor loss;            // of the step
  at::Tensor val_divergence;  // of the validation nodes
  at::Tensor flow_cost;       // val_loss is flow_cost + lambda * val_divergence; [0]: val_divergence alone
  double lambda = 1;          // the weight of val_divergence
  at::Tensor metrics;         // [3], of epoch_metrics
};

// Ends epoch number state.epochs: writes its row of `history` [rows, 5], decides whether it is the best so
// far (the first, or val_loss below or the metric above that of the best, or keeps_last) and whether it is
// the last, counts it, and adds `increments` to `counts`, StepClock::counts() or [0] for none. A loss or
// val_loss that is not finite is written, counted, never the best, and ends the training: broken. An epoch
// without a row in the history ends it too, uncounted. After the end nothing changes but `counted` and
// `better`, which are then false.
//
// `first_row` is the epoch of row 0: 0, or at most the first epoch minus the rule's patience, whose rows are
// then read. val_loss is rounded after the product and after the sum. One launch of one warp. Throws
// c10::Error on shapes, types or devices that do not fit.
void epoch_end_(const at::Tensor& history, const at::Tensor& state, const EpochResult& result,
                const EpochRule& rule, const at::Tensor& counts, std::array<int64_t, 3> increments,
                int64_t first_row = 0);

// Adds `increments` to StepClock::counts(), as the end of an epoch does. One launch.
void advance_(const at::Tensor& counts, std::array<int64_t, 3> increments);

// What keep_if_() asks the state for.
enum class EpochFlag : int64_t { kCounted = 1, kBetter = 2, kStopped = 3, kBroken = 4 };

// Copies every source to the target of its place when the flag is set in the state; else reads no more than
// that. Pairs are of one shape, type and device; targets contiguous, no two of all that overlap. One launch
// for every 16 tensors (and one for each source that is not contiguous).
void keep_if_(const at::Tensor& state, EpochFlag flag, const std::vector<at::Tensor>& sources,
              const std::vector<at::Tensor>& targets);

}  // namespace qw
