#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "data/schema/schema_json.h"
#include "data/schema/trained_on_file.h"
#include "learn/run_files.h"
#include "qw/core/error.h"
#include "qw/core/version.h"
#include "qw/learn/memory.h"
#include "qw/learn/run.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr const char* kSchemaFile = "schema.json";
constexpr const char* kConfigFile = "config.json";

Json to_json(const FeatureScaling& scaling) {
  return {{"kind", scaling.kind()}, {"mean", scaling.mean()}, {"factor", scaling.factor()}};
}

FeatureScaling scaling_from_json(const Json& json, const DataSchema& schema, const std::string& file) {
  try {
    const auto kind = json.at("kind").get<std::string>();
    const auto mean = json.at("mean").get<std::vector<double>>(),
               factor = json.at("factor").get<std::vector<double>>();
    const size_t columns = kind == "columns" ? schema.features : 0;
    const bool known = kind == "columns" || kind == "rows" || kind == "none";
    if (known && mean.size() == columns && factor.size() == columns) return {kind, mean, factor};
  } catch (const nlohmann::json::exception&) {  // said below
  }
  fail(fmt::format("{}: \"scaling\" does not fit the features", file));
}

// The part of each node of the data in an earlier training; labels that came since train.
Split carried_over(const TrainedOn& earlier, const Split& before, const Dataset& dataset) {
  enum : char { kNone, kTrain, kVal, kTest };
  std::vector<char> part(earlier.graph.num_nodes(), kNone);
  for (const NodeId node : before.train) part[node] = kTrain;
  for (const NodeId node : before.val) part[node] = kVal;
  for (const NodeId node : before.test) part[node] = kTest;
  Split split;
  const std::vector<NodeId> was = places(dataset, earlier);
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node) {
    if (!dataset.targets.known(node)) continue;
    const NodeId then = was[node];
    const bool is_new = then < 0 || !earlier.targets.known(then);
    if (is_new || part[then] == kTrain) split.train.push_back(node);
    if (!is_new && part[then] == kVal) split.val.push_back(node);
    if (!is_new && part[then] == kTest) split.test.push_back(node);
  }
  return split;
}

// Of a training that was killed before its manifest was written.
std::optional<std::string> command_of_begun(const std::filesystem::path& folder) {
  std::error_code ignored;
  const bool begun = std::filesystem::exists(folder / kConfigFile, ignored);
  if (!begun || !std::filesystem::exists(folder / kSchemaFile, ignored)) return std::nullopt;
  const Json schema = read_json(folder / kSchemaFile);
  const bool has_command =
      schema.is_object() && schema.contains("command") && schema.at("command").is_string();
  return has_command ? std::optional(schema.at("command").get<std::string>()) : std::nullopt;
}

}  // namespace

TrainingMemory make_memory(const Dataset& dataset, const TrainRequest& request) {
  std::vector<Split> splits;
  splits.reserve(request.runs);
  if (request.refit_flow.empty()) {
    for (int64_t run = 0; run < request.runs; ++run) splits.push_back(split_of(request, dataset, run));
    return {remember(dataset, std::move(splits),
                     request.split == "auto" ? automatic_split(dataset) : request.split),
            FeatureScaling(request.scale_features, dataset)};
  }
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path(request.refit_flow) / kConfigFile, ignored))
    fail(fmt::format("{} has no training whose flow could be refitted", request.refit_flow));
  if (!has_memory(request.refit_flow)) {
    fail(fmt::format(
        "{} was made by an older qw, which did not keep who trained: its flow cannot be refitted; "
        "train it anew",
        request.refit_flow));
  }
  const TrainingMemory earlier = read_memory(request.refit_flow);
  const auto runs = static_cast<int64_t>(earlier.trained_on.splits.size());
  if (request.runs > runs)
    fail_usage(
        fmt::format("{} has {} runs, so --runs {} is too many", request.refit_flow, runs, request.runs));
  for (int64_t run = 0; run < request.runs; ++run)
    splits.push_back(carried_over(earlier.trained_on, earlier.trained_on.splits[run], dataset));
  TrainingMemory memory{remember(dataset, std::move(splits), earlier.trained_on.split), earlier.scaling};
  memory.trained_on.schema = earlier.trained_on.schema;
  return memory;
}

bool has_memory(const std::filesystem::path& folder) { return Manifest::exists_in(folder); }

// The manifest comes last, so that a folder without one is begun again; config.json before it, so that one
// who resumes finds the command of the beginning.
void write_memory(const std::filesystem::path& folder, const TrainingMemory& memory,
                  const TrainRequest& request) {
  const Fingerprint print = fingerprint(memory.trained_on);
  Json schema{{"schema", kSchema},
              {"qw", build_info().version},
              {"command", command_of_begun(folder).value_or(request.command)},
              {"data", to_json(memory.trained_on.schema)},
              {"scaling", to_json(memory.scaling)},
              {"split", memory.trained_on.split},
              {"fingerprint", fingerprint_json(print)}};
  if (!memory.trained_on.partition.empty()) schema["partition"] = memory.trained_on.partition;
  write_file_atomically(folder / kTrainedOnFile, trained_on_bytes(memory.trained_on));
  write_file_atomically(folder / kSplitFile, split_csv(memory.trained_on));
  write_file_atomically(folder / kSchemaFile, json_text(schema, 2) + "\n");
  write_file_atomically(folder / kConfigFile, json_text(to_json(request), 2) + "\n");
  Manifest manifest(folder);
  for (const char* name : {kTrainedOnFile, kSplitFile, kSchemaFile, kConfigFile}) manifest.add(name);
  manifest.write();
}

TrainingMemory read_memory(const std::filesystem::path& folder) {
  const Manifest manifest = Manifest::read(folder);
  const std::string file = (folder / kSchemaFile).string();
  const Json document = parse_json(manifest.contents(kSchemaFile), file);
  if (!document.is_object() || !document.contains("schema") || document.at("schema") != kSchema ||
      !document.contains("data") || !document.contains("scaling") || !document.contains("split") ||
      !document.at("split").is_string())
    fail(fmt::format("{}: is no schema {} of a training, which this qw reads", file, kSchema));
  const DataSchema schema = schema_from_json(document.at("data"), file);
  TrainedOn trained_on =
      trained_on_from(schema, manifest.contents(kTrainedOnFile), (folder / kTrainedOnFile).string(),
                      manifest.contents(kSplitFile), (folder / kSplitFile).string());
  trained_on.split = document.at("split").get<std::string>();
  if (document.contains("partition") && document.at("partition").is_string())
    trained_on.partition = document.at("partition").get<std::string>();
  return {std::move(trained_on), scaling_from_json(document.at("scaling"), schema, file)};
}

nlohmann::ordered_json fingerprint_json(const Fingerprint& print) {
  return {{"graph", print.graph},
          {"features", print.features},
          {"labels", print.labels},
          {"splits", print.splits}};
}

}  // namespace qw
