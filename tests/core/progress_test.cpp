#include "core/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace qw {
namespace {

constexpr int64_t kKib = 1024;

TEST(ProgressLine, HasEverythingWhenThereIsRoom) {
  const ProgressState state{
      .title = "cora: x", .unit = "bytes", .done = 50 * kKib, .total = 100 * kKib, .speed = 25.0 * kKib};
  EXPECT_EQ(progress_line(state, 80),
            "cora: x  50% [==========>          ] 50.0 KiB of 100.0 KiB, 25.0 KiB/s, 2 s left");
  EXPECT_EQ(progress_line(state, 200),
            "cora: x  50% [===============>              ] 50.0 KiB of 100.0 KiB, 25.0 KiB/s, 2 s left")
      << "the bar does not grow without end";
}

TEST(ProgressLine, IsNeverWiderThanAsked) {
  const ProgressState state{.title = "some title", .unit = "edges", .done = 5, .total = 9, .speed = 2};
  for (int width = -1; width <= 120; ++width) {
    EXPECT_LE(progress_line(state, width).size(), static_cast<size_t>(std::max(0, width)));
  }
  EXPECT_EQ(progress_line(state, 68), "some title  55% [=====>    ] 5 edges of 9 edges, 2 edges/s, 2 s left");
  EXPECT_EQ(progress_line(state, 54), "some title  55% 5 edges of 9 edges, 2 edges/s, 2 s lef");
  EXPECT_EQ(progress_line(state, 0), "");
}

TEST(ProgressLine, WithoutTotalOrSpeed) {
  EXPECT_EQ(progress_line({.title = "a", .unit = "bytes", .done = 10, .total = 0, .speed = 0}, 80),
            "a  10 B");
  EXPECT_EQ(progress_line({.title = "a", .unit = "bytes", .done = 10, .total = 0, .speed = 5}, 80),
            "a  10 B, 5 B/s");
  EXPECT_EQ(progress_line({.title = "a", .unit = "runs", .done = 0, .total = 4, .speed = 0}, 40),
            "a  0% [>              ] 0 runs of 4 runs");
}

TEST(ProgressLine, TheEnd) {
  EXPECT_EQ(progress_line({.title = "a", .unit = "runs", .done = 4, .total = 4, .speed = 1}, 60),
            "a  100% [=============] 4 runs of 4 runs, 1 runs/s, 0 s left");
  EXPECT_EQ(progress_line({.title = "a", .unit = "runs", .done = 6, .total = 4, .speed = 1}, 30),
            "a  100% 6 runs of 4 runs, 1 ru")
      << "more than was promised is not more than all";
  EXPECT_EQ(progress_line({.title = "a", .unit = "runs", .done = 999, .total = 1000, .speed = 0}, 20),
            "a  99% 999 runs of 1")
      << "100% only when it is done";
}

TEST(ProgressLine, TimesLeft) {
  const auto left = [](int64_t total, double speed) {
    const std::string line =
        progress_line({.title = "t", .unit = "u", .done = 0, .total = total, .speed = speed}, 500);
    return line.substr(line.rfind(", ") + 2);
  };
  EXPECT_EQ(left(59, 1), "59 s left");
  EXPECT_EQ(left(3, 2), "2 s left");
  EXPECT_EQ(left(60, 1), "1 min 0 s left");
  EXPECT_EQ(left(3599, 1), "59 min 59 s left");
  EXPECT_EQ(left(7500, 1), "2 h 5 min left");
  EXPECT_EQ(left(INT64_MAX, 1e-300), "over 100 h left");
}

TEST(TimeText, IsRoundedUp) {
  EXPECT_EQ(time_text(0), "0 s");
  EXPECT_EQ(time_text(59.5), "1 min 0 s");
  EXPECT_EQ(time_text(125), "2 min 5 s");
  EXPECT_EQ(time_text(2.5 * 3600), "2 h 30 min");
  EXPECT_EQ(time_text(1e18), "over 100 h");
}

TEST(ProgressLine, AmountsAreReadable) {
  EXPECT_EQ(progress_line({.title = "t", .unit = "steps", .done = 1234567, .total = 0, .speed = 0.25}, 80),
            "t  1,234,567 steps, 0.2 steps/s");
}

// Runs `draw` with a terminal of 60 columns as stderr and returns what it wrote there.
std::string written_to_terminal(const std::function<void()>& draw) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "no terminal here";
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(screen, TIOCSWINSZ, &size);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(screen, STDERR_FILENO);
  draw();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);

  // The kernel hands bytes over in its own time, so that only a mark at the end says that all have come.
  constexpr char kEnd = '#';
  EXPECT_EQ(::write(screen, &kEnd, 1), 1);
  std::string written;
  pollfd ready{.fd = terminal, .events = POLLIN, .revents = 0};
  while (!written.ends_with(kEnd) && ::poll(&ready, 1, 2000) > 0) {
    char bytes[4096];
    const ssize_t count = ::read(terminal, bytes, sizeof bytes);
    if (count <= 0) break;
    written.append(bytes, static_cast<size_t>(count));
  }
  for (const int descriptor : {saved, screen, terminal}) ::close(descriptor);
  EXPECT_TRUE(written.ends_with(kEnd));
  return written.substr(0, written.size() - 1);
}

TEST(ProgressBar, DrawsAtOnceThenAtMostTenTimesASecondAndWipesTheLine) {
  const std::string written = written_to_terminal([] {
    ProgressBar bar("job", 1000, "steps");
    for (int64_t step = 0; step < 1000; ++step) bar.update(step);
    bar.finish();
    bar.finish();
  });
  if (written == "no terminal here") GTEST_SKIP() << written;
  EXPECT_TRUE(written.starts_with("\rjob  0% [>")) << written;
  EXPECT_TRUE(written.ends_with("\r\033[K")) << written;
  // One redraw more on a machine so slow that the loop takes 0.1 s.
  EXPECT_LE(std::count(written.begin(), written.end(), '\r'), 3) << written;
}

TEST(ProgressBar, LeavesTheLastColumnFree) {
  const std::string written = written_to_terminal([] {
    ProgressBar bar(std::string(100, 'x'), 0, "steps");
    bar.update(1);
  });
  if (written == "no terminal here") GTEST_SKIP() << written;
  EXPECT_EQ(written, "\r" + std::string(59, 'x') + "\033[K\r\033[K");
}

TEST(ProgressBar, SilentWhenQuiet) {
  set_quiet(true);
  EXPECT_TRUE(quiet());
  const std::string written = written_to_terminal([] { ProgressBar("job", 10, "steps").update(5); });
  set_quiet(false);
  EXPECT_FALSE(quiet());
  if (written == "no terminal here") GTEST_SKIP() << written;
  EXPECT_EQ(written, "");
}

TEST(ProgressBar, SilentWhenStderrIsNoTerminal) {
  testing::internal::CaptureStderr();
  ProgressBar("job", 10, "steps").update(5);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace qw
