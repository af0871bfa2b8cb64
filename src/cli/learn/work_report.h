// How far long work on a store of results is: a line that changes on a terminal, else one now and then.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "core/live_block.h"
#include "core/progress.h"
#include "qw/study/work.h"

namespace qw::cli {

class WorkReport {
 public:
  explicit WorkReport(std::string title) : title_(std::move(title)) {}

  void show(const WorkProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet() || (told_ && now - last_ < every_)) return;
    last_ = now;
    told_ = true;
    const double left =
        progress.seconds / static_cast<double>(progress.done) * static_cast<double>(progress.left);
    const std::string line = fmt::format("{}: {} done, at most {} to go, about {} left; {}", title_,
                                         progress.done, progress.left, time_text(left), progress.now);
    if (draws_) {
      block_.draw({line});
    } else {
      fmt::print(stderr, "{}\n", line);
    }
  }

 private:
  std::string title_;
  bool draws_ = can_draw_live();
  bool told_ = false;
  std::chrono::milliseconds every_{draws_ ? 100 : 10'000};
  std::chrono::steady_clock::time_point last_;
  LiveBlock block_;
};

}  // namespace qw::cli
