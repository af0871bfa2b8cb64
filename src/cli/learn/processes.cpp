#include "cli/learn/processes.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/launch.h"
#include "comm/place.h"
#include "core/json.h"
#include "core/progress.h"
#include "learn/device.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/version.h"
#include "qw/ops/capture.h"

namespace qw::cli {
namespace {

// Starters may bind processes to cores of their own: then there is nothing to share.
void share_cores(int processes) {
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  if (thread_count() >= all) set_thread_count(std::max(1, all / processes));
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool is_on_gpu(const ProcessOptions& options) { return options.device != "cpu"; }

// Whether all processes of this machine have one.
bool has_own_gpu(const Place& place, const std::string& device) {
  return device == "cuda" ? place.local_size <= cuda_devices() : place.local_size == 1;
}

// Rows of GPUs go from one to the other where every process has one of its own; else over the host.
void give_gpu(Place& place, const std::string& device, Agreement& agreement) {
  const at::Device own = device_of_process(device);
  if (has_own_gpu(place, device)) {
    place.gpu = own.index();
  } else if (place.rank == 0) {
    say(fmt::format("{} processes share the GPUs of this machine: rows between them go over the host",
                    place.local_size));
  }
  agreement.emplace_back("GPUs", place.gpu < 0 ? "that are shared" : "of its own");
}

}  // namespace

at::Device device_of_process(const std::string& name) {
  const at::Device device = device_named(name);
  const std::optional<Place> place = place_from_environment();
  if (name != "cuda" || !place) return device;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(place->local_rank % cuda_devices())};
}

void add_process_options(FieldTable& table, ProcessOptions& options) {
  table.add("processes", options.processes, {0, 1024},
            "start so many processes on this machine; 0: those that torchrun, srun or mpirun started");
  table.add("wait", options.wait, {1, 1e6}, "seconds to wait for the other processes to start");
}

std::unique_ptr<Comm> join_processes(const ProcessOptions& options, const Agreement& agreement,
                                     const GlobalOptions& global) {
  std::optional<Place> place = place_from_environment();
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
  Agreement all{{"qw", build_info().version}};
  if (is_on_gpu(options)) give_gpu(*place, options.device, all);
  all.insert(all.end(), agreement.begin(), agreement.end());
  std::unique_ptr<Comm> comm = join(*place, all, static_cast<double>(options.wait));
  if (place->rank == 0 && place->size > 1) say(fmt::format("{} processes have met", place->size));
  return comm;
}

void require_parts(const PartitionManifest& manifest, int64_t processes) {
  if (processes <= manifest.count()) return;
  fail_usage(fmt::format("{} has {} part{}, too few for {} processes", manifest.folder.string(),
                         manifest.count(), manifest.count() == 1 ? "" : "s", processes));
}

int count_processes(const ProcessOptions& options) {
  const std::optional<Place> place = place_from_environment();
  if (options.processes > 0) return static_cast<int>(options.processes);
  return place ? place->size : 1;
}

bool has_several_processes(const ProcessOptions& options) {
  const std::optional<Place> place = place_from_environment();
  return options.processes > 1 || (place && place->size > 1);
}

std::unique_ptr<Comm> join_processes_of(const PartitionManifest& manifest, const ProcessOptions& options,
                                        const Agreement& agreement, const GlobalOptions& global) {
  require_parts(manifest, options.processes);
  Agreement all{{"partition", manifest.id}};
  all.insert(all.end(), agreement.begin(), agreement.end());
  std::unique_ptr<Comm> comm = join_processes(options, all, global);
  require_parts(manifest, comm->size());
  return comm;
}

Agreement agreement_on(const TrainRequest& request) {
  Agreement agreement;
  const nlohmann::ordered_json document = to_json(request);
  for (const char* options : {"request", "model_options", "learn"}) {
    for (const auto& [name, value] : document.at(options).items())
      agreement.emplace_back(name, value.is_string() ? value.get<std::string>() : json_text(value));
  }
  return agreement;
}

double median_seconds(Comm& comm, double seconds, const std::function<void()>& work) {
  constexpr double kFewest = 3, kMost = 1e6;
  comm.barrier();
  // Process 0 says how many calls there are, since all must make the same.
  const at::Tensor count = at::zeros({1}, at::kLong);
  count.fill_(static_cast<int64_t>(std::clamp(seconds / seconds_of(work), kFewest, kMost)));
  comm.broadcast(count, 0);
  std::vector<double> times;
  for (int64_t k = count.item<int64_t>(); k > 0; --k) times.push_back(seconds_of(work));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace qw::cli
