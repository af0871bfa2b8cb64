#include "data/writers/writers.h"

#include <fmt/format.h>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {

const std::vector<Writer>& writers() {
  static const std::vector<Writer> all = {kCsvWriter, kCsrNpzWriter, kMatrixMarketWriter};
  return all;
}

namespace {

std::vector<std::string> losses(const Dataset& dataset, const std::string& format) {
  std::vector<std::string> notes;
  const bool is_csv = format == kCsvWriter.name;
  const size_t kept_splits = is_csv ? 1 : 0;
  if (dataset.graph.directed()) notes.emplace_back("the graph is directed: read it back with --directed");
  if (dataset.splits.size() > kept_splits) {
    notes.push_back(fmt::format("{} of {} splits were kept", kept_splits, dataset.splits.size()));
  }
  if (format == kMatrixMarketWriter.name) {
    if (!dataset.node_ids.empty()) notes.emplace_back("node ids were not kept");
    if (!dataset.targets.names.empty()) notes.emplace_back("class names were not kept");
    if (!dataset.features.names.empty()) notes.emplace_back("feature names were not kept");
  }
  if (is_csv && dataset.targets.task != Task::kNone) {
    notes.push_back(fmt::format("if the task is guessed wrongly, read it back with --task {}",
                                task_name(dataset.targets.task)));
  }
  return notes;
}

std::string known_formats() {
  std::vector<std::string> known;
  for (const Writer& writer : writers()) known.push_back(fmt::format("{} ({})", writer.name, writer.writes));
  return join(known, ", ");
}

}  // namespace

std::string format_for(const std::filesystem::path& path, const std::string& asked) {
  const std::string ending = lower(path.extension().string());
  const Writer* by_ending = nullptr;
  const Writer* by_name = nullptr;
  for (const Writer& writer : writers()) {
    if (!writer.ending.empty() && writer.ending == ending) by_ending = &writer;
    if (writer.name == asked) by_name = &writer;
  }
  if (!asked.empty() && by_name == nullptr)
    fail_usage(fmt::format("format {} is unknown; known: {}", in_quotes(asked), known_formats()));
  const bool is_table = ending == ".csv" || ending == ".tsv" || ending == ".txt" || ending == ".gz";
  const bool is_folder = by_name == nullptr ? by_ending == nullptr : by_name->ending.empty();
  const bool contradicts = by_name != nullptr && (is_folder ? by_ending != nullptr : by_name != by_ending);
  if (contradicts || (is_folder && is_table)) {
    fail_usage(fmt::format("{}: the name does not fit {}; known formats: {}", in_quotes(path.string()),
                           by_name == nullptr ? "csv" : by_name->name, known_formats()));
  }
  return by_name != nullptr ? by_name->name : by_ending != nullptr ? by_ending->name : kCsvWriter.name;
}

std::vector<std::string> save_dataset(const Dataset& dataset, const std::string& format,
                                      const std::filesystem::path& path) {
  std::vector<std::string> known;
  for (const Writer& writer : writers()) {
    if (writer.name == format) {
      writer.write(dataset, path);
      return losses(dataset, format);
    }
    known.push_back(writer.name);
  }
  fail_usage("format " + unknown_name(format, known));
}

}  // namespace qw
