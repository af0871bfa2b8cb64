// Ctrl-C (SIGINT) and SIGTERM, once: a training ends after the epoch it is in and keeps what it has. The
// second ends the program at once.
#pragma once

namespace qw::cli {

class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();  // from here on both end the program again

  bool interrupted() const;
};

inline constexpr int kInterruptedExit = 130;  // as a shell has it

}  // namespace qw::cli
