// One line on the terminal that says how far a long task is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace qw {

void set_quiet(bool quiet);  // for the whole process: draw no progress
bool quiet();

std::string time_text(double seconds);  // 125 -> "2 min 5 s"; rounded up

struct ProgressState {
  std::string title;
  std::string unit;  // "bytes" is written as KiB, MiB, ...; anything else stands after the number
  int64_t done = 0;
  int64_t total = 0;  // 0: unknown, and then there is no percentage, bar or time left
  double speed = 0;   // units per second; 0: not known yet
};

// "cora: ind.cora.allx  50% [=====>     ] 125.0 KiB of 251.3 KiB, 1.2 MiB/s, 2 s left", never wider than
// `width` characters: the bar takes what room there is, disappears when that is little, and then the end is
// cut off.
std::string progress_line(const ProgressState& state, int width);

// Draws on stderr, at most ten times a second, only when stderr is a terminal and the process is not quiet;
// otherwise does nothing, and the caller prints plain lines. For use by one thread at a time.
class ProgressBar {
 public:
  ProgressBar(std::string title, int64_t total, std::string unit);  // total 0: unknown
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { finish(); }

  void update(int64_t done);
  void finish();  // wipes the line, so that the next output starts on an empty one

 private:
  using Clock = std::chrono::steady_clock;

  ProgressState state_;
  bool active_;
  bool drawn_ = false;
  int64_t first_done_ =
      -1;  // what was there at the first update (a resumed download) says nothing about the speed
  Clock::time_point first_time_;
  Clock::time_point last_drawn_;
};

}  // namespace qw
