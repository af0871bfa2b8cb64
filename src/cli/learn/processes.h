// Commands that several processes run together.
#pragma once

#include <functional>
#include <memory>

#include "cli/command.h"
#include "comm/comm.h"
#include "qw/data/partition.h"
#include "qw/learn/run.h"

namespace qw::cli {

struct ProcessOptions {
  int64_t processes = 0;       // 0: those that are there
  int64_t wait = 120;          // seconds
  std::string device = "cpu";  // where they work; none of their options
};
void add_process_options(FieldTable& table, ProcessOptions& options);

// Where torchrun, srun or mpirun started this process with others, all of them; with --processes N, runs this
// same command N times, and ends the program with them; else this process alone. Processes that share a
// machine share its cores, unless --threads says how many each takes. All must have `agreement` in common.
std::unique_ptr<Comm> join_processes(const ProcessOptions& options, const Agreement& agreement,
                                     const GlobalOptions& global);

// Those of a partition, of which each must have a part at least.
std::unique_ptr<Comm> join_processes_of(const PartitionManifest& manifest, const ProcessOptions& options,
                                        const Agreement& agreement, const GlobalOptions& global);

// "cuda": the GPU of this process, by its place on its machine. Throws as device_named() does.
at::Device device_of_process(const std::string& name);

// Every option of a training; where its data is may differ.
Agreement agreement_on(const TrainRequest& request);

// Throws qw::UsageError unless each has a part.
void require_parts(const PartitionManifest& manifest, int64_t processes);

// How many there are, or will be.
int count_processes(const ProcessOptions& options);
// Whether there are more than this process, or will be.
bool has_several_processes(const ProcessOptions& options);

// The median time of one call that all processes make together, in about so many seconds.
double median_seconds(Comm& comm, double seconds, const std::function<void()>& work);

}  // namespace qw::cli
