// Where a process stands among those that were started together.
#pragma once

#include <optional>
#include <string>

namespace qw {

// Ranks are 0 .. size - 1. All meet at host:port.
struct Place {
  int rank = 0, size = 1;
  int local_size = 1;  // processes on this machine
  int local_rank = 0;  // among these
  int gpu = -1;        // its number, where every process has one of its own; the environment does not say
  std::string host = "127.0.0.1";
  int port = 0;
  bool has_keeper = false;  // who started the processes listens at the port; else process 0 does
  std::string key_prefix;   // of what is written there
};

// As the environment says it: of torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), of srun (SLURM_*) or
// of mpirun (OMPI_COMM_WORLD_*), the first that is there; nothing where none is. MASTER_ADDR and MASTER_PORT
// count in all three. Throws qw::Error on what makes no sense.
std::optional<Place> place_from_environment();

}  // namespace qw
