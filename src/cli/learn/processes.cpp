#include "cli/learn/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "comm/launch.h"
#include "comm/place.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/version.h"

namespace qw::cli {
namespace {

// Starters may bind processes to cores of their own: then there is nothing to share.
void share_cores(int processes) {
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  if (thread_count() >= all) set_thread_count(std::max(1, all / processes));
}

}  // namespace

void add_process_options(FieldTable& table, ProcessOptions& options) {
  table.add("processes", options.processes, {0, 1024},
            "start so many processes on this machine; 0: those that torchrun, srun or mpirun started");
  table.add("wait", options.wait, {1, 1e6}, "seconds to wait for the other processes to start");
}

std::unique_ptr<Comm> join_processes(const ProcessOptions& options, const GlobalOptions& global) {
  const std::optional<Place> place = place_from_environment();
  if (place && options.processes > 0 && options.processes != place->size) {
    fail_usage(
        fmt::format("--processes {} does not go with the environment, by which this is one of {} "
                    "processes: leave it out",
                    options.processes, place->size));
  }
  if (!place && options.processes > 1) {
    throw CLI::RuntimeError(run_processes(static_cast<int>(options.processes)));  // all is said
  }
  if (!place) return alone();
  if (global.threads == 0) share_cores(place->local_size);
  return join(*place, {{"qw", build_info().version}}, static_cast<double>(options.wait));
}

}  // namespace qw::cli
