#include "learn/run_files.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "nn/tensor_file.h"
#include "nn/tensors.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void write_flow(const std::filesystem::path& path, const EdgeFlow& flow, const Learner& learner) {
  std::vector<Buffer> tensors{{"flow", flow.values}, {"heads", flow.heads}, {"tails", flow.tails}};
  for (const Buffer& each : learner.predicting_state()) {
    if (each.name.starts_with("edge_predictor.")) tensors.push_back(each);
  }
  write_tensors(path, tensors);
}

Json row_json(const SplitSizes::Row& row) {
  return {{"train", row.train}, {"val", row.val}, {"test", row.test}};
}

SplitSizes::Row row_from(const Json& json, std::string name) {
  return {std::move(name), json.at("train").get<int64_t>(), json.at("val").get<int64_t>(),
          json.at("test").get<int64_t>()};
}

constexpr const char* kValidationFile = "validation.safetensors";

double number_from(const Json& json) { return json.is_number() ? json.get<double>() : std::nan(""); }

}  // namespace

Metrics metrics_from_json(const nlohmann::ordered_json& json) {
  Metrics metrics;
  for (const auto& [name, value] : json.items()) {
    metrics.emplace_back(name, value.is_number() ? value.get<double>() : std::nan(""));
  }
  return metrics;
}

nlohmann::ordered_json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = number(value);
  return json;
}

nlohmann::ordered_json flow_json(const FlowSummary& flow) {
  Json json{{"l1", flow.l1},
            {"nonzeros", flow.nonzeros},
            {"entries", flow.entries},
            {"violation", flow.violation},
            {"quantiles", flow.quantiles}};
  if (!flow.histogram.counts.empty()) {
    json["histogram"] = {{"limit", flow.histogram.limit}, {"counts", flow.histogram.counts}};
  }
  return json;
}

nlohmann::ordered_json split_json(const SplitSizes& sizes) {
  Json json = row_json(sizes.all);
  json["classes"] = Json::object();
  for (const SplitSizes::Row& row : sizes.classes) json["classes"][row.name] = row_json(row);
  return json;
}

nlohmann::ordered_json to_json(const RunResult& result) {
  Json json{{"run", result.run},
            {"seed", result.seed},
            {"epochs", result.epochs},
            {"best_epoch", result.best_epoch},
            {"parameters", result.parameters},
            {"train", metrics_json(result.train)},
            {"val", metrics_json(result.val)},
            {"test", metrics_json(result.test)}};
  Json& classes = json["classes"] = Json::array();
  for (const ClassRow& row : result.classes) {
    classes.push_back({{"name", row.name},
                       {"nodes", row.nodes},
                       {"precision", row.precision},
                       {"recall", row.recall},
                       {"f1", row.f1}});
  }
  if (result.flow) json["flow"] = flow_json(*result.flow);
  if (!result.scaling.mean().empty()) {
    json["target_mean"] = result.scaling.mean();
    json["target_deviation"] = result.scaling.deviation();
  }
  json["split"] = split_json(result.split);
  json["temperature"] = result.temperature;
  json["coverage"] = {{"test", number(result.certainty.coverage)}, {"size", number(result.certainty.size)}};
  json["classes_predicted"] = result.classes_predicted;
  return json;
}

RunResult result_from_json(const nlohmann::ordered_json& json) {
  RunResult result;
  result.run = json.at("run").get<int64_t>();
  result.seed = json.at("seed").get<uint64_t>();
  result.epochs = json.at("epochs").get<int64_t>();
  result.best_epoch = json.at("best_epoch").get<int64_t>();
  result.parameters = json.value("parameters", int64_t{0});
  result.train = metrics_from_json(json.at("train"));
  result.val = metrics_from_json(json.at("val"));
  result.test = metrics_from_json(json.at("test"));
  for (const Json& row : json.at("classes")) {
    result.classes.push_back({row.at("name").get<std::string>(), row.at("nodes").get<int64_t>(),
                              row.at("precision").get<double>(), row.at("recall").get<double>(),
                              row.at("f1").get<double>()});
  }
  if (json.contains("flow")) {
    const Json& flow = json.at("flow");
    result.flow = FlowSummary{flow.at("l1").get<double>(),
                              flow.at("nonzeros").get<int64_t>(),
                              flow.at("entries").get<int64_t>(),
                              flow.at("violation").get<double>(),
                              flow.at("quantiles").get<std::vector<double>>(),
                              {}};
    if (flow.contains("histogram")) {  // older files have none
      const Json& histogram = flow.at("histogram");
      result.flow->histogram = {histogram.at("limit").get<double>(),
                                histogram.at("counts").get<std::vector<int64_t>>()};
    }
  }
  if (json.contains("target_mean")) {
    result.scaling = TargetScaling(json.at("target_mean").get<std::vector<double>>(),
                                   json.at("target_deviation").get<std::vector<double>>());
  }
  if (json.contains("split")) {  // older files have none of these
    result.split.all = row_from(json.at("split"), "");
    for (const auto& [name, row] : json.at("split").at("classes").items())
      result.split.classes.push_back(row_from(row, name));
    result.temperature = json.at("temperature").get<double>();
    result.certainty = {number_from(json.at("coverage").at("test")),
                        number_from(json.at("coverage").at("size"))};
    result.classes_predicted = json.at("classes_predicted").get<int64_t>();
  }
  return result;
}

std::filesystem::path run_folder(const std::filesystem::path& folder, int64_t run) {
  return folder / fmt::format("run-{}", run);
}

std::filesystem::path checkpoint_path(const std::filesystem::path& run_folder) {
  return run_folder / "checkpoint.safetensors";
}

void write_metrics(const std::filesystem::path& run_folder, const std::vector<EpochRecord>& history) {
  std::string lines;
  for (const EpochRecord& r : history) {
    const Json line{{"epoch", r.epoch},
                    {"loss", number(r.loss)},
                    {"val_loss", number(r.val_loss)},
                    {"train", number(r.train_metric)},
                    {"val", number(r.val_metric)},
                    {"test", number(r.test_metric)}};
    lines += json_text(line) + "\n";
  }
  write_file_atomically(run_folder / "metrics.jsonl", lines);
}

std::filesystem::path calibration_path(const std::filesystem::path& run_folder) {
  return run_folder / "calibration.json";
}

Calibration read_calibration(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = calibration_path(run_folder);
  const bool of_older_qw = !Manifest::exists_in(run_folder) && !std::filesystem::exists(path);
  if (of_older_qw) return {};
  const std::string text = read_run_file(run_folder, path.filename().string());
  return calibration_from_json(parse_json(text, path.string()), path.string());
}

namespace {

// Both give the names of what they wrote.
std::vector<std::string> write_predictions(const std::filesystem::path& run_folder, const FinishedRun& run) {
  const Targets& targets = run.dataset.targets;
  const std::optional<PredictionSets> sets(std::in_place, targets.task, targets.width, run.calibration,
                                           run.coverage);
  const std::vector<NodePart> parts = parts_of(run.split, run.dataset.graph.num_nodes());
  write_file_atomically(run_folder / "predictions.csv",
                        Predictions(run.dataset, targets, run.scores, run.calibration, sets, parts).csv());
  return {"predictions.csv"};
}

std::vector<std::string> write_for_search(const std::filesystem::path& run_folder, const FinishedRun& run) {
  const Targets& targets = run.dataset.targets;
  write_file_atomically(run_folder / "config.json", json_text(to_json(*run.of_search), 2) + "\n");
  const std::vector<double> predicted =
      calibrated(targets.task, run.split.val, targets.width, run.scores, run.calibration.temperature);
  write_tensors(run_folder / kValidationFile, {{"predicted", tensor_of(predicted)}});
  return {"config.json", kValidationFile};
}

}  // namespace

std::vector<double> read_validation(const std::filesystem::path& run_folder) {
  check_run_file(run_folder, kValidationFile);
  return SafetensorsFile::read(run_folder / kValidationFile).values<double>("predicted");
}

std::optional<TrainRequest> read_own_request(const std::filesystem::path& run_folder) {
  if (!std::filesystem::exists(run_folder / "config.json")) return std::nullopt;
  return read_request(run_folder);
}

EdgeFlow edge_flow(const Graph& graph, const Flow* flow) {
  if (flow == nullptr) return {};
  std::vector<NodeId> heads, tails;
  for (const EdgeId edge : flow->carriers()) {
    heads.push_back(graph.heads()[edge]);
    tails.push_back(graph.tails()[edge]);
  }
  return {tensor_of(heads), tensor_of(tails), flow->values().detach()};
}

void write_run(const std::filesystem::path& run_folder, Trainer& trainer, const FinishedRun& run) {
  Learner& learner = trainer.best();
  save_model(run_folder / "model.safetensors", learner.model_config(), learner.model());
  if (run.flow.values.defined()) write_flow(run_folder / "flow.safetensors", run.flow, learner);
  write_file_atomically(calibration_path(run_folder), json_text(to_json(run.calibration)) + "\n");
  write_metrics(run_folder, trainer.history());
  Manifest manifest(run_folder);
  for (const char* name : {"model.safetensors", "model.json", "calibration.json", "metrics.jsonl"})
    manifest.add(name);
  for (const std::string& name :
       run.of_search == nullptr ? write_predictions(run_folder, run) : write_for_search(run_folder, run))
    manifest.add(name);
  const std::string summary = json_text(to_json(run.result), 2) + "\n";
  if (run.flow.values.defined()) manifest.add("flow.safetensors");
  manifest.add("summary.json", summary);
  manifest.write();
  write_file_atomically(run_folder / "summary.json", summary);
  std::error_code ignored;
  std::filesystem::remove(checkpoint_path(run_folder), ignored);
}

void write_summary(const std::filesystem::path& folder, nlohmann::ordered_json summary,
                   const Fingerprint& trained_on) {
  summary["fingerprint"] = fingerprint_json(trained_on);
  const std::string text = json_text(summary, 2) + "\n";
  if (has_memory(folder)) {
    Manifest manifest = Manifest::read(folder);
    manifest.add("summary.json", text);
    manifest.write();
  }
  write_file_atomically(folder / "summary.json", text);
}

std::optional<RunResult> read_result(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / "summary.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Json document = parse_json(read_run_file(run_folder, "summary.json"), path.string());
  try {
    return result_from_json(document);
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: is no summary of a run; remove it to do the run again", path.string()));
  }
}

namespace {

// None for folders of an older qw.
std::optional<Manifest> manifest_of(const std::filesystem::path& folder) {
  const bool is_checked = Manifest::exists_in(folder) || Manifest::exists_in(folder.parent_path());
  return is_checked ? std::optional(Manifest::read(folder)) : std::nullopt;
}

}  // namespace

std::string read_run_file(const std::filesystem::path& folder, const std::string& name) {
  const std::optional<Manifest> manifest = manifest_of(folder);
  return manifest ? manifest->contents(name) : read_file(folder / name);
}

TrainRequest read_request(const std::filesystem::path& folder) {
  const std::string file = (folder / "config.json").string();
  const bool is_checked = Manifest::exists_in(folder);
  const std::string text = is_checked ? Manifest::read(folder).contents("config.json") : read_file(file);
  return request_from_json(parse_json(text, file), file);
}

bool is_of_older_qw(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "config.json")) return false;
  const Json config = read_json(folder / "config.json");
  return config.is_object() && config.contains("schema") && config.at("schema") == 1;
}

void check_run_file(const std::filesystem::path& folder, const std::string& name) {
  if (const std::optional<Manifest> manifest = manifest_of(folder)) manifest->check(name);
}

void check_finished_run(const std::filesystem::path& run_folder) {
  const std::optional<Manifest> manifest = manifest_of(run_folder);
  if (!manifest) return;
  for (const char* name : {"model.json", "model.safetensors", "flow.safetensors", "calibration.json"}) {
    if (manifest->lists(name)) manifest->check(name);
  }
}

void check_config(const std::filesystem::path& folder, const TrainRequest& request) {
  if (!std::filesystem::exists(folder / "config.json")) return;
  if (to_json(read_request(folder)) != to_json(request)) {
    fail(fmt::format("{} was made by another request; choose another --out, or go on with it by --resume {}",
                     folder.string(), folder.string()));
  }
}

FolderLock::FolderLock(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) fail(fmt::format("{}: {}", folder.string(), std::strerror(errno)));
  if (flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;  // some file systems have no locks
  close(folder_);
  fail(fmt::format("{} is being written by another qw; wait for it, or choose another --out",
                   folder.string()));
}

FolderLock::~FolderLock() { close(folder_); }

}  // namespace qw
