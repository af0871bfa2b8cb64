// Options of qw train that do not go with others.
#pragma once

#include <string>

#include "cli/command.h"
#include "qw/data/load.h"
#include "qw/learn/run.h"

namespace qw::cli {

// Whether the command line has the option of this field.
bool is_written(const CLI::App& command, const std::string& field);

// What is written beside --resume would be ignored, and beside --refit-flow what the network was learned
// with. All throw UsageError.
void refuse_beside_resume(const CLI::App& command);
void refuse_beside_refit(const CLI::App& command);

// An option that would change nothing is a misunderstanding.
void refuse_ignored(const CLI::App& command, const LoadOptions& load, const TrainRequest& request);

}  // namespace qw::cli
