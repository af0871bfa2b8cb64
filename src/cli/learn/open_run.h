// What the commands that read a finished training share.
#pragma once

#include <filesystem>
#include <string>

#include "cli/learn/commands.h"
#include "qw/learn/run.h"

namespace qw::cli {

struct RunArguments {
  std::string folder;
  int64_t run = 0;
  bool run_is_given = false;  // for commands that ask for all runs otherwise
  DataArguments data;         // other data than the training's; empty: that
};

// Adds a subcommand that takes a folder, --run, and data to use instead of the training's.
CLI::App* add_run_command(CLI::App& app, const std::string& name, const std::string& summary,
                          RunArguments& arguments);

// A run of a training, and data that was read as the training's was.
struct OpenedRun {
  TrainRequest request;
  TrainingMemory memory;
  Dataset dataset;
  std::filesystem::path folder;  // of the one run
};

// The folder of one run of a training; throws qw::Error when it is not there or not finished.
std::filesystem::path finished_run(const std::string& folder, int64_t run);

// Says what of the data differs from the training's. Throws qw::Error when the run is not there, not finished
// or not as it was written.
OpenedRun open_run(const RunArguments& arguments);

// The node of this id; throws qw::UsageError that begins with `command` when there is none.
NodeId find_node(const Dataset& dataset, const std::string& id, const std::string& command);

// How to read the data of a training again, or, where `given` names some, other data in the same way: options
// that are not written are the training's, and what the schema knows is left to it.
DataArguments data_as_trained(const DataArguments& given, const TrainRequest& request,
                              const TrainingMemory& memory, const std::string& config_file);

}  // namespace qw::cli
