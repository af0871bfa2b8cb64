// What a run leaves on disk, and reading it back.
#pragma once

#include <filesystem>
#include <optional>

#include "qw/learn/run.h"

namespace qw {

std::filesystem::path run_folder(const std::filesystem::path& folder, int64_t run);
std::filesystem::path checkpoint_path(const std::filesystem::path& run_folder);

// Model, flow, predictions and, last, summary.json: when that is there, the run is done.
void write_run(const std::filesystem::path& run_folder, const Dataset& dataset, Trainer& trainer,
               const RunResult& result);
void write_metrics(const std::filesystem::path& run_folder, const std::vector<EpochRecord>& history);

// The result of a run that is done, or nothing.
std::optional<RunResult> read_result(const std::filesystem::path& run_folder);

nlohmann::ordered_json flow_json(const FlowSummary& flow);

}  // namespace qw
