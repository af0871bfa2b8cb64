// The epochs of one run as other programs read them, while it trains: an event file of TensorBoard and
// metrics.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace qw {

struct LoggedEpoch {
  int64_t epoch = 0;           // from 0
  std::vector<double> values;  // one for each name; what is not finite has no value
};

inline constexpr const char* kMetricsTable = "metrics.csv";

bool has_run_log(const std::filesystem::path& folder);

// What metrics.csv holds after these epochs.
std::string metrics_table(const std::vector<std::string>& names, const std::vector<LoggedEpoch>& epochs);

class RunLog {
 public:
  // Makes the folder. `earlier` counts instead of what a log there holds, so that a training that goes on
  // repeats no epoch. Event files that are there stay: a TensorBoard that watches one would never leave it if
  // it went. The new one tells it to forget them. `options` is Markdown.
  RunLog(const std::filesystem::path& folder, std::vector<std::string> names, const std::string& options,
         const std::vector<LoggedEpoch>& earlier);
  RunLog(RunLog&&) noexcept;
  RunLog& operator=(RunLog&&) noexcept;
  ~RunLog();

  void add(const LoggedEpoch& epoch);  // throws qw::Error when the disk is full

 private:
  class AppendedFile;

  std::vector<std::string> names_;
  std::unique_ptr<AppendedFile> events_, table_;
};

}  // namespace qw
