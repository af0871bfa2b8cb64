// Cuts a graph and trains its parts, with processes that are threads of the test.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "comm/group.h"
#include "core/file.h"
#include "distributed/train_partition.h"
#include "qw/data/make_partition.h"

namespace qw::test {

struct Cut {
  std::string method = "range";
  int64_t parts = 4;
};

inline PartitionManifest cut(const Dataset& data, const Cut& how, const std::filesystem::path& out) {
  PartitionOptions options;
  options.parts = how.parts;
  options.method = how.method;
  if (how.method == "range") options.align = 1;
  std::vector<std::string> notes;
  make_partition(data, options, out, notes);
  return open_partition(out);
}

struct Outcome {
  std::vector<RunResult> results;
  std::vector<EpochRecord> history;
  bool stopped = false;
};

// Stops after `most` epochs, where that is not negative.
inline Outcome train_on(int processes, const PartitionManifest& manifest, const TrainRequest& request,
                        const std::filesystem::path& folder, int64_t most = -1) {
  Outcome outcome;
  const Dataset labels = labels_of_partition(manifest);
  Group().run(processes, [&](Comm& comm) {
    const auto results =
        train_partition(comm, {manifest, labels, request, folder, {}, [&](const TrainProgress& progress) {
                                 outcome.history.push_back(progress.record);
                                 return most < 0 || std::ssize(outcome.history) < most;
                               }});
    if (comm.rank() != 0) return;
    outcome.stopped = !results.has_value();
    if (results) outcome.results = *results;
  });
  return outcome;
}

inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : {"run-0/model.safetensors", "run-0/predictions.csv", "run-0/metrics.jsonl",
                           "run-0/flow.safetensors", "run-0/calibration.json", "split.csv"}) {
    if (std::filesystem::exists(folder / name)) files[name] = read_file(folder / name);
  }
  return files;
}

}  // namespace qw::test
