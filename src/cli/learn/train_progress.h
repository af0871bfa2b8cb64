// What `qw train` shows a person while it goes on.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/live_block.h"
#include "qw/learn/run.h"

namespace qw::cli {

// On a terminal a line for each run that changes (core/learning_line.h); else a line now and then.
class TrainingReport {
 public:
  // `may_draw` false: plain lines also on a terminal.
  TrainingReport(const MetricInfo& metric, bool may_draw);

  void show(const TrainProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  struct Run {
    bool by_loss = false;        // no node validates
    std::vector<double> values;  // of the metric of the validation nodes, or the loss, after each epoch
    double best = 0;
    double loss = 0;
    int64_t epochs_here = 0;  // by this process
    bool is_done = false;
    Clock::time_point begin = Clock::now();
  };

  void note(const TrainProgress& progress);
  std::string plain_line(const TrainProgress& progress) const;
  std::vector<std::string> lines(int64_t runs, int64_t epochs) const;
  std::string line_of(int64_t number, const Run& run, int64_t runs, int64_t epochs, int width) const;
  double seconds_left(int64_t runs, int64_t epochs) const;

  const MetricInfo& metric_;
  bool on_, draws_, unicode_;
  std::map<int64_t, Run> runs_;
  Clock::time_point start_ = Clock::now(), last_;
  LiveBlock block_;
};

}  // namespace qw::cli
