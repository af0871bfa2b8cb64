#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace qw {
namespace {

// A step of a training has gaps of tens of microseconds between its loops; to be woken takes as long.
constexpr auto kPatience = std::chrono::microseconds(100);
constexpr size_t kCacheLine = 64;
constexpr int kMostHelpers = 1023;

thread_local bool in_a_task = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` is over at once
#endif
}

// Whether `condition` came true within kPatience.
template <class Condition>
bool watch_for(const Condition& condition) {
  constexpr int kLooksAtOnce = 32;  // at the condition, between looks at the clock
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int look = 0; look < kLooksAtOnce; ++look) {
      if (condition()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class ThreadPool {
 public:
  // False when another caller has the threads.
  bool run(int tasks, int threads, const std::function<void(int task)>& body) {
    const std::unique_lock<std::mutex> mine(one_caller_, std::try_to_lock);
    if (!mine) return false;
    add_helpers(threads - 1);
    body_ = &body;
    wanted_.store(std::min(threads - 1, started_), std::memory_order_relaxed);
    unfinished_.store(tasks, std::memory_order_relaxed);
    next_and_tasks_.store(static_cast<uint64_t>(tasks) << 32);
    in_a_task = true;
    take_tasks(0);
    in_a_task = false;
    wait_for_all();
    return true;
  }

  int watching() const { return watching_.load(std::memory_order_relaxed); }

 private:
  struct alignas(kCacheLine) Helper {
    int index = 0;
    std::atomic<uint32_t> asleep{0};
  };

  // As many as are wanted and the system gives. They end with the process.
  void add_helpers(int count) {
    for (; started_ < std::min(count, kMostHelpers); ++started_) {
      Helper& helper = helpers_[started_];
      helper.index = started_;
      try {
        std::thread([this, &helper] { help(helper); }).detach();
      } catch (const std::system_error&) {
        return;
      }
    }
  }

  [[noreturn]] void help(Helper& helper) {
    in_a_task = true;
    watching_.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      if (!watch_for([&] { return has_task_for(helper); })) sleep(helper);
      take_tasks(2 * helper.index + 2);
    }
  }

  bool has_task_for(const Helper& helper) const {
    const uint64_t state = next_and_tasks_.load();
    return static_cast<uint32_t>(state) < (state >> 32) &&
           helper.index < wanted_.load(std::memory_order_relaxed);
  }

  void sleep(Helper& helper) {
    helper.asleep.store(1);
    if (has_task_for(helper)) {
      helper.asleep.store(0);  // nobody wakes those who are awake
    } else {
      watching_.fetch_sub(1, std::memory_order_relaxed);
      helper.asleep.wait(1);
      watching_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void wake(int index) {
    std::atomic<uint32_t>& asleep = helpers_[index].asleep;
    if (asleep.load() != 0 && asleep.exchange(0) != 0) asleep.notify_one();
  }

  // What a thread has taken keeps the caller from going on, and so the rest of this as it is. A thread that
  // is late may take a task of a later call: one is as good as another.
  // To wake a thread takes microseconds. So the caller wakes the first two, and each helper the two that
  // are its own.
  void take_tasks(int first_to_wake) {
    for (;;) {
      const uint64_t look = next_and_tasks_.load(std::memory_order_relaxed);
      if (static_cast<uint32_t>(look) >= (look >> 32)) return;
      const uint64_t taken = next_and_tasks_.fetch_add(1, std::memory_order_acquire);
      const auto task = static_cast<uint32_t>(taken);
      if (task >= (taken >> 32)) return;
      const int wanted = wanted_.load(std::memory_order_relaxed);
      for (int index = first_to_wake; index < std::min(first_to_wake + 2, wanted); ++index) wake(index);
      (*body_)(static_cast<int>(task));
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
    }
  }

  void wait_for_all() {
    const auto done = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
    if (watch_for(done)) return;
    for (int left = unfinished_.load(std::memory_order_acquire); left != 0;
         left = unfinished_.load(std::memory_order_acquire))
      unfinished_.wait(left, std::memory_order_acquire);
  }

  std::mutex one_caller_;
  std::vector<Helper> helpers_{kMostHelpers};  // none moves: threads look at each other's
  int started_ = 0;
  const std::function<void(int task)>* body_ = nullptr;
  std::atomic<int> wanted_{0};
  std::atomic<int> watching_{0};                                 // helpers that do not sleep
  alignas(kCacheLine) std::atomic<uint64_t> next_and_tasks_{0};  // the next task below, their number above
  alignas(kCacheLine) std::atomic<int> unfinished_{0};
};

// Never destroyed: its threads look at it until the process ends. A forked process has none of them, and its
// calls do all their tasks themselves.
ThreadPool& pool() {
  static auto* const only = new ThreadPool;
  return *only;
}

}  // namespace

void run_tasks(int tasks, int threads, const std::function<void(int task)>& body) {
  if (tasks > 1 && threads > 1 && !in_a_task && pool().run(tasks, std::min(threads, tasks), body)) return;
  for (int task = 0; task < tasks; ++task) body(task);
}

int threads_awake() { return 1 + pool().watching(); }

}  // namespace qw
