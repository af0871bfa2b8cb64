// Several processes on this machine, without torchrun.
#pragma once

namespace qw {

// Runs this process's own command so often at once, each with its rank in the environment as torchrun has it,
// and waits for all. 0 when all went well, else the exit code of the first that did not; throws qw::Error
// with one line when a signal ended it. SIGTERM is passed on.
int run_processes(int count);

}  // namespace qw
