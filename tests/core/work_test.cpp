#include "qw/core/work.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

namespace qw {
namespace {

Work done_by(const std::function<void()>& body) {
  const Work before = work_done();
  body();
  const Work after = work_done();
  return {after.flops - before.flops, after.bytes - before.bytes};
}

TEST(Work, AddsUp) {
  const Work work = done_by([] {
    count_work({3, 5});
    count_work({});
    count_work({int64_t{1} << 40, 7});
  });
  EXPECT_EQ(work.flops, (int64_t{1} << 40) + 3);
  EXPECT_EQ(work.bytes, 12);
}

TEST(Work, NothingDoneIsNothingCounted) {
  const Work work = done_by([] {});
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.bytes, 0);
}

TEST(Work, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 4, kTimes = 10000;
  const Work work = done_by([] {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([] {
        for (int time = 0; time < kTimes; ++time) count_work({1, 2});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(work.flops, kThreads * kTimes);
  EXPECT_EQ(work.bytes, 2 * kThreads * kTimes);
}

}  // namespace
}  // namespace qw
