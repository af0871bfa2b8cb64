// The subcommands that need LibTorch, one function each, each in its own file.
#pragma once

#include "cli/command.h"

namespace qw::cli {

void add_bench_command(CLI::App& app, const GlobalOptions& global);

// Tells LibTorch how many threads to use: called by every command before its first tensor.
void use_threads_in_libtorch();

}  // namespace qw::cli
