// Threads that stand ready for parallel work.
//
// Tasks are taken one by one by whoever is free, the caller first: a thread that comes late, or that the
// system keeps from running, holds up nothing that it has not begun. Idle threads watch for work for a
// moment, and then sleep.
#pragma once

#include <functional>

namespace qw {

// Calls body(task), which must not throw, for each task in [0, tasks), by at most `threads` threads, of which
// the calling one is the first. One caller at a time has the threads: others, and calls from inside a task,
// do all their tasks themselves.
void run_tasks(int tasks, int threads, const std::function<void(int task)>& body);

// How many are ready at once, the caller included; to wake one that sleeps takes tens of microseconds.
int threads_awake();

}  // namespace qw
