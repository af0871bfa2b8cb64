#include "report/run_summary.h"

#include <fmt/format.h>

#include <limits>

#include "core/json.h"
#include "core/manifest.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) fail(fmt::format("it has no \"{}\"", name));
  return object.at(name);
}

MetricSummary metric_from(const Json& json, size_t seeds) {
  MetricSummary metric{
      number(field(json, "mean")), number(field(json, "std")), number(field(json, "ci95")), {}};
  for (const Json& value : field(json, "runs")) metric.runs.push_back(number(value));
  if (metric.runs.size() != seeds) fail(fmt::format("{} values for {} seeds", metric.runs.size(), seeds));
  return metric;
}

RunSummary summary_from(const Json& json) {
  const Json& config = field(json, "config");
  RunSummary summary;
  summary.name = field(json, "name");
  summary.data = field(config, "data");
  summary.split = field(field(config, "request"), "split");
  summary.model = field(field(config, "request"), "model");
  summary.solver = field(field(config, "learn"), "solver");
  summary.seeds = field(json, "seeds").get<std::vector<uint64_t>>();
  if (json.contains("fingerprint")) {
    const Json& print = json.at("fingerprint");
    summary.fingerprint = {field(print, "graph"), field(print, "features"), field(print, "labels"),
                           field(print, "splits")};
    if (summary.fingerprint->splits.size() != summary.seeds.size())
      fail(fmt::format("{} splits for {} seeds", summary.fingerprint->splits.size(), summary.seeds.size()));
  }
  for (const char* part : {"train", "val", "test"}) {
    auto& metrics = summary.parts[part];
    for (const auto& [name, metric] : field(json, part).items()) {
      metrics.emplace_back(name, metric_from(metric, summary.seeds.size()));
    }
  }
  return summary;
}

std::filesystem::path summary_file(const std::filesystem::path& folder) {
  const std::string name = folder.string();
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    fail(fmt::format("{}: there is no such folder; a run is a folder that qw train --out made", name));
  if (std::filesystem::exists(folder / "summary.json", ignored)) return folder / "summary.json";
  if (std::filesystem::exists(folder / "search", ignored))
    fail(fmt::format("{} is not finished; the same qw fit goes on", name));
  if (std::filesystem::exists(folder / "config.json", ignored))
    fail(fmt::format("{} is not finished; go on with: qw train --resume {}", name, name));
  fail(fmt::format("{} has no summary.json; a run is a folder that qw train --out made", name));
}

}  // namespace

std::filesystem::path RunSummary::predictions_file(size_t place) const {
  std::filesystem::path together = std::filesystem::path(folder) / "predictions.csv";
  if (std::filesystem::exists(together)) return together;
  return std::filesystem::path(folder) / fmt::format("run-{}", place) / "predictions.csv";
}

RunSummary read_run_summary(const std::filesystem::path& folder) {
  const std::filesystem::path file = summary_file(folder);
  if (Manifest::exists_in(folder)) Manifest::read(folder).check("summary.json");
  const Json json = read_json(file);
  const std::string refusal = file.string() + ": is no summary of a training: ";
  try {
    RunSummary summary = summary_from(json);
    summary.folder = folder.string();
    return summary;
  } catch (const Error& error) {
    fail(refusal + error.what());
  } catch (const Json::exception&) {
    fail(refusal + "a field is of the wrong kind");
  }
}

}  // namespace qw
