#include "qw/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>

#include "core/machine.h"
#include "core/thread_pool.h"

namespace qw {
namespace {

// More threads than this only cost memory, and the system may refuse to start them.
constexpr int kMostPerCore = 8;

std::atomic<int>& configured_threads() {
  static std::atomic<int> count{usable_cores()};
  return count;
}

// Keeps the exception of the lowest task, since none may leave a parallel region: which one is reported does
// not depend on timing.
class FirstError {
 public:
  template <class Body>
  void guard(int task, const Body& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_ || task < task_) error_ = std::current_exception();
      task_ = std::min(task, task_);
    }
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int task_ = std::numeric_limits<int>::max();
};

// In how many pieces so much work is done: one for each thread that is awake, where it is worth a thread, and
// more where it is also worth to wake others.
int64_t pieces_of(int64_t work, int64_t grain) {
  constexpr int64_t kToWake = 8;  // grains
  const int64_t worth = work / std::max<int64_t>(1, grain);
  const int64_t pieces = std::max(std::min<int64_t>(worth, threads_awake()), worth / kToWake);
  return std::min<int64_t>(pieces, thread_count());
}

}  // namespace

int thread_count() { return configured_threads().load(std::memory_order_relaxed); }

void set_thread_count(int count) {
  configured_threads().store(std::clamp(count, 1, kMostPerCore * usable_cores()), std::memory_order_relaxed);
}

void parallel_tasks(int tasks, const std::function<void(int task)>& body) {
  const int threads = std::min(tasks, thread_count());
  if (threads <= 1) {
    for (int task = 0; task < tasks; ++task) body(task);
    return;
  }
  FirstError error;
  run_tasks(tasks, threads, [&](int task) { error.guard(task, [&] { body(task); }); });
  error.rethrow();
}

void parallel_for(int64_t size, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body) {
  if (size <= 0) return;
  const int64_t pieces = pieces_of(size, grain);
  if (pieces <= 1) return body(0, size);
  parallel_tasks(static_cast<int>(pieces), [&](int piece) {
    const auto bound = [&](int64_t index) {
      return size / pieces * index + std::min<int64_t>(index, size % pieces);
    };
    body(bound(piece), bound(piece + 1));
  });
}

void parallel_rows(std::span<const int64_t> offsets, int64_t grain,
                   const std::function<void(int64_t begin, int64_t end)>& body) {
  const auto rows = static_cast<int64_t>(offsets.size()) - 1;
  if (rows <= 0) return;
  const int64_t entries = offsets.back();
  const int64_t parts = pieces_of(entries, grain);
  if (parts <= 1) return body(0, rows);
  const auto bound = [&](int64_t part) {
    if (part == parts) return rows;
    return std::lower_bound(offsets.begin(), offsets.end() - 1, entries * part / parts) - offsets.begin();
  };
  parallel_tasks(static_cast<int>(parts), [&](int part) { body(bound(part), bound(part + 1)); });
}

}  // namespace qw
