#include "comm/place.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr int64_t kMostProcesses = 1 << 20, kMostPorts = 65535;
constexpr int kUsualPort = 29500;  // of torchrun

// The names under which a starter of processes says where one stands.
struct Names {
  const char *rank, *size, *local_size, *local_rank;
};
// SLURM_STEP_NUM_TASKS is set by srun only: a batch script has the others too, and is one process.
constexpr std::array<Names, 3> kStarters = {
    {{"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID"},
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK"}}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number_in(const char* name, int64_t lowest, int64_t highest) {
  const std::string text = variable(name);
  const std::optional<int64_t> number = parse_integer(text);
  if (!number || *number < lowest || *number > highest) {
    fail(fmt::format("the environment has {}={}, which is not a number from {} to {}", name, in_quotes(text),
                     lowest, highest));
  }
  return static_cast<int>(*number);
}

// Slurm says "2(x3)" for 2 on each of three machines. Where machines differ none shares its cores.
int local_size_in(const char* name) {
  const std::string text = variable(name);
  const bool differ = text.find(',') != std::string::npos;
  return differ ? 1 : static_cast<int>(parse_integer(text.substr(0, text.find('('))).value_or(1));
}

// The first of "node[03-07,12],gpu1": node03.
std::string first_host(const std::string& list) {
  const size_t bracket = list.find_first_of("[,");
  std::string host = list.substr(0, bracket);
  if (bracket == std::string::npos || list[bracket] == ',') return host;
  return host + list.substr(bracket + 1, list.find_first_of("-,]", bracket) - bracket - 1);
}

std::string host_for(const Place& place) {
  if (std::string given = variable("MASTER_ADDR"); !given.empty()) return given;
  if (place.local_size == place.size) return "127.0.0.1";
  if (std::string first = first_host(variable("SLURM_STEP_NODELIST")); !first.empty()) return first;
  fail("the environment lacks MASTER_ADDR: the machine of process 0, where all processes meet");
}

// Jobs of Slurm that share a machine get ports of their own.
int port_for() {
  if (!variable("MASTER_PORT").empty()) return number_in("MASTER_PORT", 1, kMostPorts);
  constexpr int64_t kFirst = 20000, kCount = 10000;
  const std::optional<int64_t> job = parse_integer(variable("SLURM_JOB_ID"));
  return job ? static_cast<int>(kFirst + *job % kCount) : kUsualPort;
}

}  // namespace

std::optional<Place> place_from_environment() {
  for (const Names& names : kStarters) {
    const bool has_rank = !variable(names.rank).empty(), has_size = !variable(names.size).empty();
    if (&names == &kStarters.front() && has_rank != has_size) {
      fail(fmt::format("the environment has {} without {}: several processes need both",
                       has_rank ? names.rank : names.size, has_rank ? names.size : names.rank));
    }
    if (!has_rank || !has_size) continue;
    Place place;
    place.size = number_in(names.size, 1, kMostProcesses);
    place.rank = number_in(names.rank, 0, place.size - 1);
    place.local_size = local_size_in(names.local_size);
    if (!variable(names.local_rank).empty())
      place.local_rank = number_in(names.local_rank, 0, place.size - 1);
    place.host = host_for(place);
    place.port = port_for();
    if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True") {
      place.has_keeper = true;
      place.key_prefix = fmt::format("qw/{}", variable("TORCHELASTIC_RESTART_COUNT"));
    }
    return place;
  }
  return std::nullopt;
}

}  // namespace qw
