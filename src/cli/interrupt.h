// Ctrl-C as a question.
#pragma once

#include <array>
#include <csignal>

namespace qw::cli {

inline constexpr int kInterruptedExit = 130;  // as a shell has it

// While one lives, the first SIGINT or SIGTERM is only remembered; the next one ends the program as always.
// Those that are ignored, as under nohup, stay so.
class Interrupt {
 public:
  Interrupt() {
    interrupted = 0;
    struct sigaction remember = {};
    remember.sa_handler = [](int) { interrupted = 1; };
    remember.sa_flags = static_cast<int>(SA_RESETHAND);
    for (size_t k = 0; k < kSignals.size(); ++k) {
      sigaction(kSignals[k], &remember, &before_[k]);
      if (before_[k].sa_handler == SIG_IGN) sigaction(kSignals[k], &before_[k], nullptr);
    }
  }
  ~Interrupt() {
    for (size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &before_[k], nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool happened() { return interrupted != 0; }

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  static inline volatile std::sig_atomic_t interrupted = 0;
  std::array<struct sigaction, 2> before_ = {};
};

}  // namespace qw::cli
