#include "qw/core/parallel.h"

#include <atomic>
#include <numeric>

#include "support/support.h"

namespace qw {
namespace {

TEST(Parallel, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const test::ScopedThreads scope(threads);
    for (const int64_t size : {0, 1, 7, 1000}) {
      std::vector<int> seen(size, 0);
      parallel_for(size, 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), size);
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    }
  }
}

TEST(Parallel, RowsAreCoveredOnceAndBalanced) {
  std::vector<int64_t> offsets{0};
  for (int64_t row = 0; row < 1000; ++row) offsets.push_back(offsets.back() + (row < 10 ? 1000 : row % 3));
  for (const int threads : {1, 2, 7}) {
    const test::ScopedThreads scope(threads);
    std::vector<std::atomic<int>> seen(1000);
    std::atomic<int64_t> largest{0};
    parallel_rows(offsets, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) ++seen[row];
      int64_t known = largest;
      const int64_t entries = offsets[end] - offsets[begin];
      while (entries > known && !largest.compare_exchange_weak(known, entries)) continue;
    });
    EXPECT_TRUE(
        std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& count) { return count == 1; }));
    EXPECT_LE(largest, offsets.back() / threads + 1000) << "one row more than its share";
  }
  parallel_rows(std::vector<int64_t>{0}, 1, [](int64_t, int64_t) { FAIL() << "no rows"; });
}

TEST(Parallel, RethrowsFromAnyThread) {
  const test::ScopedThreads scope(4);
  EXPECT_EQ(test::error_of([] {
              parallel_tasks(16, [](int task) {
                if (task == 11) fail("task 11");
              });
            }),
            "task 11");
}

TEST(Parallel, TheLowestTasksErrorIsReported) {
  const test::ScopedThreads scope(4);
  for (int repetition = 0; repetition < 50; ++repetition) {
    EXPECT_EQ(test::error_of([] { parallel_tasks(16, [](int task) { fail(std::to_string(task)); }); }), "0");
  }
}

TEST(Parallel, ThreadCountIsAtLeastOne) {
  const test::ScopedThreads scope(-3);
  EXPECT_EQ(thread_count(), 1);
}

}  // namespace
}  // namespace qw
