// qw train --dry-run: what would be done, and the memory it would take.
#pragma once

#include "cli/command.h"
#include "distributed/training_plan.h"
#include "qw/learn/run.h"

namespace qw::cli {

void print_dry_run(const Dataset& dataset, const TrainRequest& request, bool as_json);
// The same of a training over parts.
void print_dry_run(const PartedGraph& graph, const TrainRequest& request, int processes,
                   const Machine& machine, bool json);

}  // namespace qw::cli
