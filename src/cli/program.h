// What the two programs share: options that hold everywhere, help, errors and exit codes.
#pragma once

#include <functional>

#include "cli/command.h"

namespace qw::cli {

using AddCommands = std::function<void(CLI::App& app, const GlobalOptions& global)>;

// Parses and runs; gives the exit code: 0, 1 (the run failed) or 2 (bad usage). Errors are one line on
// stderr, which `describe` makes of an exception that is not ours; by default its what().
int run_program(int argc, char** argv, const AddCommands& add_commands,
                const std::function<std::string(const std::exception&)>& describe = {});

// The command as it was written, for a shell: "qw train --edges 'my edges.csv'".
std::string command_line();

}  // namespace qw::cli
