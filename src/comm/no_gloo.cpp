// Where libgloo-dev is missing, a process is alone.
#include <fmt/format.h>

#include "comm/comm.h"
#include "comm/launch.h"

namespace qw {

std::unique_ptr<Comm> join(const Place& place, const Agreement&, double) {
  if (place.size == 1) return alone();
  fail(fmt::format("this qw works with one process, not {}: it was built without Gloo (libgloo-dev)",
                   place.size));
}

int run_processes(int) { fail("this qw works with one process: it was built without Gloo (libgloo-dev)"); }

}  // namespace qw
