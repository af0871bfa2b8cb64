// A moment by which work must have returned, or a wish that it should, and a cheap question whether it has
// come.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

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

  // Passes as well as soon as `cancelled` says yes; several threads may ask it at once.
  Deadline or_when(std::function<bool()> cancelled) const {
    Deadline deadline = *this;
    if (cancelled) deadline.wish_ = std::make_shared<Wish>(std::move(cancelled));
    return deadline;
  }

  bool comes() const { return at_ != Clock::time_point::max(); }
  bool passed() const { return is_over() || (wish_ && wish_->is_expressed()); }
  bool is_over() const { return comes() && Clock::now() >= at_; }
  bool was_cancelled() const { return wish_ && wish_->expressed.load(std::memory_order_relaxed); }

  double seconds_left() const {
    if (!comes()) return std::numeric_limits<double>::infinity();
    return std::chrono::duration<double>(at_ - Clock::now()).count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Wish {
    explicit Wish(std::function<bool()> question) : cancelled(std::move(question)) {}
    bool is_expressed() {
      if (expressed.load(std::memory_order_relaxed)) return true;
      if (!cancelled()) return false;
      expressed.store(true, std::memory_order_relaxed);
      return true;
    }
    std::function<bool()> cancelled;
    std::atomic<bool> expressed = false;
  };

  Clock::time_point at_ = Clock::time_point::max();
  std::shared_ptr<Wish> wish_;
};

}  // namespace qw
