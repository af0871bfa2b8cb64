// Threads for the torch-free modules.
//
// Every function that uses them gives the same bits for any number of threads: work is divided by who owns an
// output, never by who reads an input, and no sum is split.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// How many threads parallel work may use: at least 1, at most 8 per core. Starts at the number of cores this
// process may run on.
int thread_count();
void set_thread_count(int count);

// Calls body(begin, end) on disjoint ranges that cover [0, size), from several threads when size is at least
// twice `grain`. Of exceptions thrown by bodies the one of the lowest
// range is rethrown here, after all have stopped.
void parallel_for(int64_t size, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

// The same over rows 0 .. offsets.size() - 2, in ranges that hold about the same number of entries each: row
// r has offsets[r+1] - offsets[r] of them. Several threads when there are at least twice `grain` entries.
void parallel_rows(std::span<const int64_t> offsets, int64_t grain,
                   const std::function<void(int64_t begin, int64_t end)>& body);

// Calls body(task) for each task in [0, tasks), each exactly once, in no promised order.
void parallel_tasks(int tasks, const std::function<void(int task)>& body);

}  // namespace qw
