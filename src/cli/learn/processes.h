// Commands that several processes run together.
#pragma once

#include <functional>
#include <memory>

#include "cli/command.h"
#include "comm/comm.h"

namespace qw::cli {

struct ProcessOptions {
  int64_t processes = 0;  // 0: those that are there
  int64_t wait = 120;     // seconds
};
void add_process_options(FieldTable& table, ProcessOptions& options);

// Where torchrun, srun or mpirun started this process with others, all of them; with --processes N, runs this
// same command N times, and ends the program with them; else this process alone. Processes that share a
// machine share its cores, unless --threads says how many each takes. All must have `agreement` in common.
std::unique_ptr<Comm> join_processes(const ProcessOptions& options, const Agreement& agreement,
                                     const GlobalOptions& global);

// The median time of one call that all processes make together, in about so many seconds.
double median_seconds(Comm& comm, double seconds, const std::function<void()>& work);

}  // namespace qw::cli
