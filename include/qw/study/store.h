// The results of many trainings, which several processes may fill at the same time and which survive any of
// them being killed: in one file (SQLite) for the processes of a machine, or in PostgreSQL for many machines.
//
//   qw::ResultStore store("sweep.db");
//   qw::ResultStore store("postgresql://host/database");  // as libpq reads it: users, passwords, TLS
//
//   config    what was trained: the data and the options that differ from the defaults, as JSON
//   result    one row per config and run: metrics, time, device, or the error; written once
//   file      files of such a training, for others to go on with
//   claim     who is at work on what (in PostgreSQL worker 0: nobody yet)
//   worker    who is there: claims of a process that died, or was silent for a minute, are free again
//   study     sweeps by name, as they were asked for
//   data      the fingerprint of every data set
//   option_default
//             of all options: a store does not serve where one of them has changed
//
// Every change is one transaction. In PostgreSQL the tables stand in a schema of their own, `qw`; a
// connection that breaks is made anew for up to a minute, and nothing is lost.
#pragma once

#include <cstdint>
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

// Files by their names.
using TrialFiles = std::map<std::string, std::string>;

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
  // A file or a URL. Makes the file, or the tables, unless they are there; throws qw::Error on what is
  // something else. Errors begin with name().
  explicit ResultStore(const std::string& where);
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  ~ResultStore();

  // The number of what this request would train, whatever its runs and device are; new if need be.
  int64_t config_of(const TrainRequest& request);
  std::vector<int64_t> configs_of(const std::vector<TrainRequest>& requests);  // of many, at once
  // Of options that are no request: objects with "data" among them.
  std::vector<int64_t> configs_of_options(const std::vector<nlohmann::ordered_json>& options);
  TrainRequest request_of(int64_t config);            // of configs_of; the other way
  nlohmann::ordered_json options_of(int64_t config);  // {"data": ..., options that differ from defaults}

  // The result of a trial; nothing when it is not done.
  std::optional<StoredResult> find(const Trial& trial);
  // Of all trials that are done; valid until the next call.
  const TrialScores& scores();

  // Of these, in this order, up to `most` that nobody has done or is at work on; they are now ours.
  std::vector<Trial> claim(const std::vector<Trial>& wanted, int64_t most);
  // The claim is over. Where somebody else was faster, result and files are theirs.
  void put(const Trial& trial, const StoredResult& result, const TrialFiles& files = {});
  // A file that came with a result; nothing where there is none of this name.
  std::optional<std::string> file(const Trial& trial, const std::string& name);

  // What the data of configs is when somebody loads it. Throws qw::Error where it was something else before.
  void check_data(const nlohmann::ordered_json& data, const nlohmann::ordered_json& fingerprint);

  // Sweeps by name, as they were asked for last.
  void set_study(const std::string& name, const nlohmann::ordered_json& description);
  std::vector<std::pair<std::string, nlohmann::ordered_json>> studies();

  // The file, or the URL without its password.
  const std::string& name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether there are results to be read: the file, or the tables. Makes nothing.
bool has_results(const std::string& where);

}  // namespace qw
