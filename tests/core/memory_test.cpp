#include "core/memory.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "support/support.h"

namespace qw {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Memory, WhatCannotFitIsRefused) {
  EXPECT_GT(available_memory(), 0);
  EXPECT_NO_THROW(require_memory(1, "this", "do that"));
  const std::string problem = test::error_of([] { require_memory(1e18, "this", "do that"); });
  EXPECT_THAT(problem, StartsWith("this needs 909494.7 TiB of memory, but "));
  EXPECT_THAT(problem, HasSubstr(" are free; do that"));
}

TEST(Memory, TheLimitOfTheProcessCounts) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit already";
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  constexpr int64_t kLeft = int64_t{1} << 28;
  rlimit lower = before;
  lower.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kLeft;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &lower), 0);
  const int64_t left = available_memory();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(left, kLeft);
  EXPECT_GT(left, kLeft / 2);
}

}  // namespace
}  // namespace qw
