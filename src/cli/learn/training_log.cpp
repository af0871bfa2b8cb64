#include "cli/learn/training_log.h"

#include <fmt/format.h>

#include <cmath>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "learn/run_files.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLogSchema = 1;

// The log of a training belongs to its request, as its folder does.
void claim(const std::filesystem::path& folder, const TrainRequest& request) {
  const std::filesystem::path file = folder / "log.json";
  const Json document{{"schema", kLogSchema}, {"training", to_json(request)}};
  const bool begun = std::filesystem::exists(file);
  const bool is_other = begun ? read_json(file) != document : has_run_log(run_folder(folder, 0));
  if (is_other)
    fail(fmt::format("{} has the log of another training; choose another --log-dir", folder.string()));
  if (!begun) write_file_atomically(file, json_text(document, 2) + "\n");
}

std::string options_table(const TrainRequest& request) {
  std::string table = "| option | value |\n| --- | --- |\n";
  const Json document = to_json(request);
  for (const char* section : {"request", "model_options", "learn"}) {
    for (const auto& [name, value] : document.at(section).items()) {
      const std::string text = value.is_string() ? printable(value.get<std::string>()) : json_text(value);
      table += fmt::format("| {} | {} |\n", name, join(split(text, '|'), "\\|"));
    }
  }
  return table;
}

LoggedEpoch logged(const EpochRecord& record) {
  return {record.epoch,
          {record.loss, record.val_loss, record.train_metric, record.val_metric, record.test_metric}};
}

// As a training's folder keeps them.
std::vector<LoggedEpoch> kept_epochs(const std::filesystem::path& run) {
  std::vector<LoggedEpoch> epochs;
  for (const std::string& line : split(read_run_file(run, "metrics.jsonl"), '\n')) {
    if (line.empty()) continue;
    const Json row = parse_json(line, (run / "metrics.jsonl").string());
    LoggedEpoch epoch{row.at("epoch").get<int64_t>(), {}};
    for (const char* name : {"loss", "val_loss", "train", "val", "test"})
      epoch.values.push_back(row.at(name).is_number() ? row.at(name).get<double>() : std::nan(""));
    epochs.push_back(std::move(epoch));
  }
  return epochs;
}

}  // namespace

TrainingLog::TrainingLog(std::filesystem::path folder, const TrainRequest& request, const std::string& metric)
    : folder_(std::move(folder)),
      runs_(request.runs),
      names_{"loss", "val_loss", metric + "/train", metric + "/val", metric + "/test"},
      options_(options_table(request)),
      logged_(request.runs, false) {
  claim(folder_, request);
}

void TrainingLog::add(const TrainProgress& progress) {
  auto open = open_.find(progress.run);
  if (open == open_.end()) {
    std::vector<LoggedEpoch> earlier;
    for (const EpochRecord& record : progress.history.first(progress.history.size() - 1))
      earlier.push_back(logged(record));
    open = open_.emplace(progress.run, RunLog(run_folder(folder_, progress.run), names_, options_, earlier))
               .first;
    logged_[progress.run] = true;
  }
  open->second.add(logged(progress.record));
  if (progress.is_last) open_.erase(open);
}

void TrainingLog::complete(const std::filesystem::path& trained) {
  for (int64_t run = 0; run < runs_; ++run) {
    if (logged_[run]) continue;
    const std::vector<LoggedEpoch> epochs = kept_epochs(run_folder(trained, run));
    const std::filesystem::path folder = run_folder(folder_, run);
    const bool is_whole = std::filesystem::exists(folder / kMetricsTable) &&
                          read_file(folder / kMetricsTable) == metrics_table(names_, epochs);
    if (!is_whole) RunLog(folder, names_, options_, epochs);
  }
}

}  // namespace qw::cli
