// What a report needs of a run folder, read without LibTorch.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "qw/data/trained_on.h"
#include "report/predicted_nodes.h"

namespace qw {

struct RunRecord {
  std::filesystem::path folder;
  nlohmann::ordered_json summary;             // summary.json
  nlohmann::ordered_json schema;              // schema.json
  std::optional<nlohmann::ordered_json> fit;  // fit.json of qw fit
  TrainedOn trained_on;
  // Of each run, by name ("loss", "val"): a value for each epoch.
  std::vector<std::map<std::string, std::vector<double>>> epochs;
  PredictedNodes predicted;         // of the first run, or all together
  std::filesystem::path flow_file;  // of the first run; empty: it has no flow

  bool has_classes() const { return trained_on.targets.task == Task::kClassification; }
  std::string class_name(int64_t place) const;  // or that of a label or value
};

// Throws qw::Error when the folder is no finished training, or is damaged.
RunRecord read_run_record(const std::filesystem::path& folder);

}  // namespace qw
