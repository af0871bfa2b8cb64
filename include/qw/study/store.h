// The results of many trainings in one SQLite file, which several processes may fill at the same time and
// which survives any of them being killed.
//
//   config    what was trained: the data and the options that differ from the defaults, as JSON
//   result    one row per config and run: metrics, time, device, or the error
//   claim     who is at work on what; claims of a process that died are free again
//   study     sweeps by name, as they were asked for
//   option_default
//             of all options: a file does not serve where one of them has changed
//
// Every change is one transaction of a write-ahead log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/learn/run.h"

namespace QW_PUBLIC qw {

// One run of one config.
struct Trial {
  int64_t config = 0;  // a number of ResultStore::config_of
  int64_t run = 0;     // from 0

  // By config, then by run.
  auto operator<=>(const Trial&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

// The primary validation metric of every trial that is done; NaN where it failed.
using TrialScores = std::map<Trial, double>;

// What the store keeps of a trial.
struct StoredResult {
  RunResult result;    // of no meaning where there is an error
  std::string error;   // why it failed; empty: it did not
  double seconds = 0;  // of wall time, alone or beside others
  std::string device;  // on which it was trained
};

// For one thread at a time.
class ResultStore {
 public:
  // Makes the file unless it is there; throws qw::Error on one that is something else.
  explicit ResultStore(const std::filesystem::path& path);
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  ~ResultStore();

  // The number of what this request would train, whatever its runs and device are; new if need be.
  int64_t config_of(const TrainRequest& request);
  std::vector<int64_t> configs_of(const std::vector<TrainRequest>& requests);  // of many, at once
  TrainRequest request_of(int64_t config);                                     // the other way
  nlohmann::ordered_json options_of(int64_t config);  // {"data": ..., options that differ from defaults}

  // The result of a trial; nothing when it is not done.
  std::optional<StoredResult> find(const Trial& trial);
  // Of all trials that are done.
  TrialScores scores();

  // Of these, in this order, up to `most` that nobody has done or is at work on; they are now ours.
  std::vector<Trial> claim(const std::vector<Trial>& wanted, int64_t most);
  void put(const Trial& trial, const StoredResult& result);  // and the claim is over

  // Sweeps by name, as they were asked for last.
  void set_study(const std::string& name, const nlohmann::ordered_json& description);
  std::vector<std::pair<std::string, nlohmann::ordered_json>> studies();

  // The file.
  const std::filesystem::path& path() const;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace qw
