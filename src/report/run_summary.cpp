#include "report/run_summary.h"

#include <fmt/format.h>

#include <limits>

#include "core/file.h"
#include "core/manifest.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

MetricSummary metric_from(const Json& json, size_t seeds) {
  MetricSummary metric{number(json.at("mean")), number(json.at("std")), number(json.at("ci95")), {}};
  for (const Json& value : json.at("runs")) metric.runs.push_back(number(value));
  if (metric.runs.size() != seeds) fail(fmt::format("{} values for {} seeds", metric.runs.size(), seeds));
  return metric;
}

RunSummary summary_from(const Json& json) {
  const Json& config = json.at("config");
  RunSummary summary;
  summary.name = json.at("name");
  summary.data = config.at("data");
  summary.split = config.at("request").at("split");
  summary.model = config.at("request").at("model");
  summary.solver = config.at("learn").at("solver");
  summary.seeds = json.at("seeds").get<std::vector<uint64_t>>();
  if (json.contains("fingerprint")) {
    const Json& print = json.at("fingerprint");
    summary.fingerprint = {print.at("graph"), print.at("features"), print.at("labels"), print.at("splits")};
    if (summary.fingerprint->splits.size() != summary.seeds.size())
      fail(fmt::format("{} splits for {} seeds", summary.fingerprint->splits.size(), summary.seeds.size()));
  }
  for (const char* part : {"train", "val", "test"}) {
    auto& metrics = summary.parts[part];
    for (const auto& [name, metric] : json.at(part).items()) {
      metrics.emplace_back(name, metric_from(metric, summary.seeds.size()));
    }
  }
  return summary;
}

std::filesystem::path summary_file(const std::filesystem::path& folder) {
  const std::string name = folder.string();
  if (!std::filesystem::is_directory(folder))
    fail(fmt::format("{}: there is no such folder; a run is a folder that qw train --out made", name));
  if (std::filesystem::exists(folder / "summary.json")) return folder / "summary.json";
  if (std::filesystem::exists(folder / "config.json"))
    fail(fmt::format("{} is not finished; go on with: qw train --resume {}", name, name));
  fail(fmt::format("{} has no summary.json; a run is a folder that qw train --out made", name));
}

}  // namespace

RunSummary read_run_summary(const std::filesystem::path& folder) {
  const std::filesystem::path file = summary_file(folder);
  if (Manifest::exists_in(folder)) Manifest::read(folder).check("summary.json");
  const Json json = Json::parse(read_file(file), nullptr, false);
  if (json.is_discarded()) fail(fmt::format("{}: is not JSON", file.string()));
  try {
    RunSummary summary = summary_from(json);
    summary.folder = folder.string();
    return summary;
  } catch (const std::exception& error) {
    fail(fmt::format("{}: is no summary of a training: {}", file.string(), error.what()));
  }
}

}  // namespace qw
