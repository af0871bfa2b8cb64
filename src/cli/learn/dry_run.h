// qw train --dry-run: what would be done, and the memory it would take.
#pragma once

#include "cli/command.h"
#include "qw/learn/run.h"

namespace qw::cli {

void print_dry_run(const Dataset& dataset, const TrainRequest& request, bool as_json);

}  // namespace qw::cli
