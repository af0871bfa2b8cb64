// How far long work on a store of results is: a line that changes on a terminal, else one now and then.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/progress.h"
#include "qw/study/work.h"

namespace qw::cli {

class WorkReport {
 public:
  explicit WorkReport(std::string title) : title_(std::move(title)) {}
  ~WorkReport() {
    if (drawn_ && terminal_) fmt::print(stderr, "\r\x1b[2K");
  }
  WorkReport(const WorkReport&) = delete;
  WorkReport& operator=(const WorkReport&) = delete;

  void show(const WorkProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet() || (drawn_ && now - last_ < every_)) return;
    last_ = now;
    drawn_ = true;
    const double left =
        progress.seconds / static_cast<double>(progress.done) * static_cast<double>(progress.left);
    const std::string line = fmt::format("{}: {} done, at most {} to go, about {} left; {}", title_,
                                         progress.done, progress.left, time_text(left), progress.now);
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[2K" : "", line, terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  std::string title_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool drawn_ = false;
  std::chrono::milliseconds every_{terminal_ ? 100 : 10'000};
  std::chrono::steady_clock::time_point last_;
};

}  // namespace qw::cli
