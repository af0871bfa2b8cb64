// A moment by which work must have returned, and a cheap question whether it has come.
#pragma once

#include <chrono>
#include <limits>

namespace qw {

class Deadline {
 public:
  static Deadline never() { return {}; }
  static Deadline after_seconds(double seconds) {
    Deadline deadline;
    if (seconds < 1e9) {
      deadline.at_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }
    return deadline;
  }

  bool comes() const { return at_ != Clock::time_point::max(); }
  bool passed() const { return comes() && Clock::now() >= at_; }

  double seconds_left() const {
    if (!comes()) return std::numeric_limits<double>::infinity();
    return std::chrono::duration<double>(at_ - Clock::now()).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace qw
