// Which epoch is kept and when learning ends: one rule for the host and for the kernel that ends an epoch,
// where constexpr functions are the device's, too.
#pragma once

#include <cstdint>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// The options of a training that decide it.
struct EpochRule {
  int64_t epochs = 0;  // learning ends after so many
  // or when past epoch `patience` the score is above the mean of so many before it; 0: never
  int64_t patience = 0;
  bool keeps_last = false;       // every epoch is the best so far, and patience has no end
  bool by_metric = false;        // the metric of the validation nodes decides instead of their loss
  bool higher_is_better = true;  // of two metrics

  // What an epoch is chosen by: the lower the better.
  constexpr double score(double val_loss, double val_metric) const {
    if (!by_metric) return val_loss;
    return higher_is_better ? -val_metric : val_metric;
  }

  // Whether an epoch of this score is to be kept; best_epoch is below 0 before the first.
  constexpr bool is_better(double score, int64_t best_epoch, double best_score) const {
    return best_epoch < 0 || keeps_last || score < best_score;
  }

  // Whether learning ends after it, whatever its score.
  constexpr bool is_last(int64_t epoch) const { return epoch + 1 >= epochs; }

  // Whether is_above_mean() is to be asked.
  constexpr bool looks_back(int64_t epoch) const { return patience > 0 && epoch > patience && !keeps_last; }

  // `sum` is that of the `patience` scores before, added in their order.
  constexpr bool is_above_mean(double score, double sum) const {
    return score > sum / static_cast<double>(patience);
  }
};

}  // namespace qw
