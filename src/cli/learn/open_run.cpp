#include "cli/learn/open_run.h"

#include <fmt/format.h>

#include "core/file.h"
#include "learn/run_files.h"
#include "qw/core/error.h"

namespace qw::cli {

CLI::App* add_run_command(CLI::App& app, const std::string& name, const std::string& summary,
                          RunArguments& arguments) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->add_option("run_folder", arguments.folder, "a folder that qw train --out made")
      ->required()
      ->type_name("RUN")
      ->check(not_empty());
  FieldTable table("qw " + name);
  table.add("run", arguments.run, {0, 1e6}, "which of its runs");
  add_options(*command, table);
  return command;
}

std::filesystem::path finished_run(const std::string& folder, int64_t run) {
  std::filesystem::path one = run_folder(folder, run);
  if (!std::filesystem::exists(one / "summary.json")) {
    fail(fmt::format("{} is not finished; go on with: qw train --resume {}", one.string(), folder));
  }
  return one;
}

OpenedRun open_run(const RunArguments& arguments) {
  use_threads_in_libtorch();
  const std::filesystem::path config = std::filesystem::path(arguments.folder) / "config.json";
  const auto document = nlohmann::ordered_json::parse(read_file(config), nullptr, false);
  if (document.is_discarded()) fail(fmt::format("{}: is not JSON", config.string()));
  OpenedRun opened;
  opened.request = request_from_json(document, config.string());
  if (arguments.run >= opened.request.runs) {
    fail_usage(fmt::format("{} has the runs 0 to {}, so there is no run {}", arguments.folder,
                           opened.request.runs - 1, arguments.run));
  }
  opened.folder = finished_run(arguments.folder, arguments.run);
  opened.trained_on = std::make_unique<Dataset>(load(data_from_json(opened.request.data, config.string())));
  return opened;
}

}  // namespace qw::cli
