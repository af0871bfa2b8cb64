// What `qw train` tells a person: progress while it goes on, and the result.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "qw/learn/run.h"

namespace qw::cli {

// On a terminal one line that changes; else a line now and then.
class TrainingReport {
 public:
  explicit TrainingReport(std::string metric);
  ~TrainingReport() { wipe(); }
  TrainingReport(const TrainingReport&) = delete;
  TrainingReport& operator=(const TrainingReport&) = delete;

  void show(const TrainProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  void wipe();
  std::string time_left(const TrainProgress& progress) const;  // at most: runs often stop early

  std::string metric_;
  bool on_, terminal_;
  bool drawn_ = false;
  int64_t epochs_ = 0;
  Clock::time_point start_ = Clock::now(), last_;
};

std::string training_text(const Dataset& dataset, const TrainRequest& request,
                          const std::vector<RunResult>& results, const std::string& out);

}  // namespace qw::cli
