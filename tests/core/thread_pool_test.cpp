#include "core/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/support.h"

namespace qw {
namespace {

// How often each task was done.
std::vector<int> done(int tasks, int threads) {
  std::vector<std::atomic<int>> counts(tasks);
  run_tasks(tasks, threads, [&](int task) { ++counts[task]; });
  return {counts.begin(), counts.end()};
}

TEST(ThreadPool, DoesEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 16}) {
    for (const int tasks : {0, 1, 2, 7, 1000}) {
      EXPECT_EQ(done(tasks, threads), std::vector<int>(tasks, 1)) << threads;
    }
  }
}

// Helpers that are late meet the tasks of later calls.
TEST(ThreadPool, CallsFollowEachOtherAtOnce) {
  std::atomic<int64_t> sum{0};
  constexpr int kCalls = 20'000;
  for (int call = 0; call < kCalls; ++call) {
    run_tasks(3, 3, [&, call](int task) { sum += call + task; });
  }
  EXPECT_EQ(sum, int64_t{3} * kCalls * (kCalls - 1) / 2 + 3 * kCalls);
}

TEST(ThreadPool, HelpersWakeUpAgain) {
  for (int call = 0; call < 20; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than they watch
    EXPECT_EQ(done(8, 4), std::vector<int>(8, 1));
  }
}

TEST(ThreadPool, CallsFromInsideATaskDoTheirTasksThemselves) {
  std::vector<std::vector<int>> inner(4);
  run_tasks(4, 4, [&](int task) {
    const auto here = std::this_thread::get_id();
    run_tasks(5, 4, [&](int each) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      inner[task].push_back(each);
    });
  });
  for (const std::vector<int>& each : inner) EXPECT_EQ(each, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, CallersAtTheSameTimeAllGetTheirWorkDone) {
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([] {
      for (int call = 0; call < 500; ++call) EXPECT_EQ(done(9, 3), std::vector<int>(9, 1));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// A forked process has no helpers.
TEST(ThreadPool, WorksAfterAFork) {
  EXPECT_EQ(done(8, 4), std::vector<int>(8, 1));
  const pid_t child = fork();
  if (child == 0) _exit(done(8, 4) == std::vector<int>(8, 1) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace qw
