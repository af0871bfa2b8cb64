// What a finished training says of itself: DIR/summary.json, which qw train or qw fit wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qw {

struct MetricSummary {
  double mean = 0;
  double std = 0;
  double ci95 = 0;           // half width of the bootstrap interval of the mean
  std::vector<double> runs;  // one per seed; NaN where there was nothing to measure, as in the others
};

// Checksums of what was trained on; the same for the same data, however it was loaded.
struct DataFingerprint {
  std::string graph, features, labels;
  std::vector<std::string> splits;  // one per seed
};

struct RunSummary {
  std::string folder;           // as it was given
  std::string name;             // of the data
  nlohmann::ordered_json data;  // how it was loaded: the same for the same data
  std::string split;
  std::string model;
  std::string solver;
  std::vector<uint64_t> seeds;
  std::optional<DataFingerprint> fingerprint;  // none in folders of an older qw
  // "train", "val", "test": metrics in the order to show them, the one that counts first.
  std::map<std::string, std::vector<std::pair<std::string, MetricSummary>>> parts;

  // What run `place` predicts for each node; of qw fit, all together.
  std::filesystem::path predictions_file(size_t place) const;
};

// Throws qw::Error when there is no such folder, when the training is not finished, when the file is no
// summary, and when it is not the one that was written.
RunSummary read_run_summary(const std::filesystem::path& folder);

}  // namespace qw
