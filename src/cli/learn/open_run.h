// What the commands that read a finished training share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/learn/commands.h"
#include "qw/learn/run.h"

namespace qw::cli {

struct RunArguments {
  std::string folder;
  int64_t run = 0;
};

// Adds a subcommand that takes a folder and --run.
CLI::App* add_run_command(CLI::App& app, const std::string& name, const std::string& summary,
                          RunArguments& arguments);

struct OpenedRun {
  TrainRequest request;
  std::unique_ptr<Dataset> trained_on;
  std::filesystem::path folder;  // of the one run
};

// The folder of one run of a training; throws qw::Error when it is not there or not finished.
std::filesystem::path finished_run(const std::string& folder, int64_t run);

// Throws qw::Error when the run is not there or not finished.
OpenedRun open_run(const RunArguments& arguments);

}  // namespace qw::cli
