// Parts of one thing, one or more in each process, that are worked on as if each had a process of its own:
// what comes out does not depend on the number of processes.
#pragma once

#include <functional>

#include "comm/comm.h"

namespace qw {

// The parts begin .. end of a process: in order, and as many in each as can be.
struct PartRange {
  int begin = 0, end = 0;

  int count() const { return end - begin; }
};
PartRange parts_of(int process, int processes, int parts);

// The numbers of all, of one shape, added in the order of their ranks.
at::Tensor sum_in_order(Comm& parts, const at::Tensor& mine);

// Calls `body` for every part of this process, each on a thread of its own, with a Comm whose ranks are
// parts. Rows between parts of one process are copied; others go in one message from process to process.
// Where one body throws, what the others wait for is thrown too, and run_parts throws that error; `processes`
// is then of no more use. There must be at least one part for each process.
void run_parts(Comm& processes, int parts, const std::function<void(Comm& part)>& body);

}  // namespace qw
