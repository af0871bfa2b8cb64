// qw train --log-dir: what TensorBoard and tables read of a training, while it goes on.
//
//   DIR/log.json              of which training it is
//   DIR/run-0/ ...            one per run: an event file and metrics.csv (report/run_log.h)
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "qw/learn/run.h"
#include "report/run_log.h"

namespace qw::cli {

class TrainingLog {
 public:
  // Throws qw::Error when the folder cannot be written, or has the log of another training. `metric` is what
  // is measured after every epoch.
  TrainingLog(std::filesystem::path folder, const TrainRequest& request, const std::string& metric);

  void add(const TrainProgress& progress);

  // Once all runs are done: those that were done before, in the folder of the training, get their log as
  // well.
  void complete(const std::filesystem::path& trained);

 private:
  std::filesystem::path folder_;
  int64_t runs_;
  std::vector<std::string> names_;
  std::string options_;
  std::map<int64_t, RunLog> open_;
  std::vector<bool> logged_;  // by this process
};

}  // namespace qw::cli
