#include "qw/learn/fit.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/learn/ensemble.h"

namespace qw {
namespace {

// Gone with its last owner.
std::shared_ptr<const std::filesystem::path> temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "qw-fit-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail(fmt::format("{}: {}", name, std::strerror(errno)));
  return {new std::filesystem::path(name), [](const std::filesystem::path* path) {
            std::error_code ignored;
            std::filesystem::remove_all(*path, ignored);
            delete path;
          }};
}

TrainRequest request_of(const FitOptions& options) {
  TrainRequest request;
  request.model = options.model;
  request.model_options = options.model_options;
  request.learn = options.learn;
  request.split = options.split;
  request.runs = options.runs;
  request.seed = options.seed;
  request.device = options.device;
  request.scale_features = options.scale_features;
  request.baselines = "none";
  request.checkpoint_every = 0;
  return request;
}

}  // namespace

Fitted::Fitted(std::shared_ptr<const std::filesystem::path> folder, std::vector<RunResult> results)
    : folder_(std::move(folder)),
      request_(read_request(*folder_)),
      memory_(read_memory(*folder_)),
      results_(std::move(results)) {}

Dataset Fitted::conformed(const Dataset& data) const {
  Dataset dataset = data;
  conform(dataset, memory_.trained_on.schema);
  return dataset;
}

NodePredictions Fitted::predict(const Dataset& data) const {
  const DataSchema& schema = memory_.trained_on.schema;
  EnsembleMembers members;
  if (const auto named = read_members(*folder_)) {
    members = *named;
  } else {
    members.runs.resize(request_.runs);
    std::iota(members.runs.begin(), members.runs.end(), int64_t{0});
  }
  std::vector<std::filesystem::path> folders;
  for (const int64_t run : members.runs) folders.push_back(run_folder(*folder_, run));
  const Ensemble ensemble(folders, request_, memory_, conformed(data), members.weights);
  NodePredictions predicted{schema.task, schema.width, schema.target_names, ensemble.mean(), {}};
  if (schema.task != Task::kClassification) return predicted;
  for (auto row = predicted.values.begin(); row != predicted.values.end(); row += schema.width)
    predicted.classes.push_back(static_cast<int32_t>(std::max_element(row, row + schema.width) - row));
  return predicted;
}

Scores Fitted::scores(const Dataset& data, int64_t run) const {
  return reload(run_folder(*folder_, run), request_, memory_, conformed(data)).scores;
}

at::Tensor Fitted::flow(const Dataset& data, int64_t run) const {
  return reload(run_folder(*folder_, run), request_, memory_, conformed(data)).flow;
}

std::vector<NodeExplanation> Fitted::explain(const Dataset& data, std::span<const NodeId> nodes,
                                             const ExplainOptions& options, int64_t run) const {
  return explain_nodes(run_folder(*folder_, run), request_, memory_, conformed(data), nodes, options);
}

DataChanges Fitted::changes(const Dataset& data) const {
  return changes_since(memory_.trained_on, conformed(data));
}

void Fitted::save(const std::filesystem::path& folder) const {
  std::error_code failed;
  if (std::filesystem::exists(folder, failed) && !std::filesystem::is_empty(folder, failed))
    fail(fmt::format("{} is there already, and not empty", folder.string()));
  std::filesystem::create_directories(folder, failed);
  if (!failed) std::filesystem::copy(*folder_, folder, std::filesystem::copy_options::recursive, failed);
  if (failed) fail(fmt::format("{}: {}", folder.string(), failed.message()));
}

Fitted fit(const Dataset& dataset, const FitOptions& options) {
  const std::shared_ptr<const std::filesystem::path> folder = temporary_folder();
  std::vector<RunResult> results = train(dataset, request_of(options), *folder, options.progress);
  return {folder, std::move(results)};
}

Fitted load_fitted(const std::filesystem::path& folder) {
  if (!has_memory(folder))
    fail(fmt::format("{} holds no training that says what it was trained on", folder.string()));
  const int64_t runs = read_request(folder).runs;
  std::vector<RunResult> results;
  for (int64_t run = 0; run < runs; ++run) {
    const std::optional<RunResult> result = read_result(run_folder(folder, run));
    if (!result) fail(fmt::format("{} is not finished", run_folder(folder, run).string()));
    results.push_back(*result);
  }
  return {std::make_shared<const std::filesystem::path>(folder), std::move(results)};
}

}  // namespace qw
