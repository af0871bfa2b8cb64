// What a run leaves on disk, and reading it back.
#pragma once

#include <filesystem>
#include <optional>

#include "qw/learn/run.h"

namespace qw {

std::filesystem::path run_folder(const std::filesystem::path& folder, int64_t run);
std::filesystem::path checkpoint_path(const std::filesystem::path& run_folder);

// A flow on edges by their ends, in the order of the graph; not defined where a solver has none.
struct EdgeFlow {
  at::Tensor heads, tails;  // [carriers] int32
  at::Tensor values;        // [carriers, C]
};
EdgeFlow edge_flow(const Graph& graph, const Flow* flow);

// What a run has come to.
struct FinishedRun {
  const Dataset& dataset;
  const Split& split;
  const Scores& scores;  // in the units of the targets
  const Calibration& calibration;
  double coverage;
  const RunResult& result;
  const TrainRequest* of_search;  // null: not one of a search
  EdgeFlow flow;
};
// Model, flow, calibration, predictions and, last, summary.json: when that is there, the run is done.
void write_run(const std::filesystem::path& run_folder, Trainer& trainer, const FinishedRun& run);
std::filesystem::path calibration_path(const std::filesystem::path& run_folder);
// Of a run that has none, no more than its scores.
Calibration read_calibration(const std::filesystem::path& run_folder);
void write_metrics(const std::filesystem::path& run_folder, const std::vector<EpochRecord>& history);

// The result of a run that is done, or nothing.
std::optional<RunResult> read_result(const std::filesystem::path& run_folder);

// What a training was asked for: its config.json.
TrainRequest read_request(const std::filesystem::path& folder);
// That of a run of a search; nothing: the folder's is its own.
std::optional<TrainRequest> read_own_request(const std::filesystem::path& run_folder);
// Whether its config.json is of schema 1: such a folder keeps nothing of its data, and no checksums.
bool is_of_older_qw(const std::filesystem::path& folder);

// A file of a training's or a run's folder, checked against its manifest; folders of an older qw have none.
std::string read_run_file(const std::filesystem::path& folder, const std::string& name);
void check_run_file(const std::filesystem::path& folder, const std::string& name);
// All that a prediction needs.
void check_finished_run(const std::filesystem::path& run_folder);

// A folder belongs to one request: going on with another would mix results.
void check_config(const std::filesystem::path& folder, const TrainRequest& request);

// Refuses a second process that would write to the folder: it is locked until this is gone, also by a kill.
class FolderLock {
 public:
  // Makes the folder. Throws qw::Error when it is locked.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int folder_ = -1;
};

// The folder's own summary.json, with the fingerprint of what was trained on.
void write_summary(const std::filesystem::path& folder, nlohmann::ordered_json summary,
                   const Fingerprint& trained_on);

nlohmann::ordered_json fingerprint_json(const Fingerprint& print);
nlohmann::ordered_json metrics_json(const Metrics& metrics);  // null for what is not finite
Metrics metrics_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json flow_json(const FlowSummary& flow);
nlohmann::ordered_json split_json(const SplitSizes& sizes);

}  // namespace qw
