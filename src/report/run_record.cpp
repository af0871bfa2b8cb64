#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/file.h"
#include "core/json.h"
#include "core/manifest.h"
#include "core/text.h"
#include "data/schema/schema_json.h"
#include "data/schema/trained_on_file.h"
#include "qw/core/error.h"
#include "report/run_summary.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRuns = 20;  // whose epochs are drawn

std::string checked(const std::filesystem::path& folder, const char* name) {
  if (Manifest::exists_in(folder)) Manifest::read(folder).check(name);
  return read_file(folder / name);
}

std::map<std::string, std::vector<double>> read_epochs(const std::filesystem::path& file) {
  std::map<std::string, std::vector<double>> epochs;
  if (!std::filesystem::exists(file)) return epochs;
  for (const std::string& line : split(read_file(file), '\n')) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) continue;
    for (const auto& [name, value] : row.items())
      epochs[name].push_back(value.is_number() ? value.get<double>() : std::nan(""));
  }
  return epochs;
}

}  // namespace

std::string RunRecord::class_name(int64_t place) const {
  const std::vector<std::string>& names = trained_on.schema.target_names;
  return names.empty() ? fmt::format("{}", place) : names.at(place);
}

RunRecord read_run_record(const std::filesystem::path& folder) {
  RunRecord record;
  record.folder = folder;
  const RunSummary summary = read_run_summary(folder);  // says what is wrong with a folder
  record.summary = read_json(folder / "summary.json");
  if (!std::filesystem::exists(folder / "schema.json"))
    fail(fmt::format("{} was made by an older qw, which kept too little for a report", folder.string()));
  record.schema = Json::parse(checked(folder, "schema.json"));
  if (std::filesystem::exists(folder / "fit.json")) record.fit = read_json(folder / "fit.json");
  const DataSchema schema = schema_from_json(record.schema.at("data"), (folder / "schema.json").string());
  record.trained_on =
      trained_on_from(schema, checked(folder, kTrainedOnFile), (folder / kTrainedOnFile).string(),
                      checked(folder, kSplitFile), (folder / kSplitFile).string());
  const size_t runs = std::min(kMostRuns, record.trained_on.splits.size());
  for (size_t run = 0; run < runs; ++run)
    record.epochs.push_back(read_epochs(folder / fmt::format("run-{}", run) / "metrics.jsonl"));
  const std::filesystem::path flow = folder / "run-0" / "flow.safetensors";
  if (!record.fit && std::filesystem::exists(flow)) record.flow_file = flow;
  record.predicted =
      read_predictions(summary.predictions_file(0), record.trained_on, !record.flow_file.empty());
  return record;
}

}  // namespace qw
