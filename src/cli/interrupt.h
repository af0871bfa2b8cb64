// Ctrl-C as a question.
#pragma once

#include <csignal>

namespace qw::cli {

// While one lives, the first SIGINT is only remembered; the next one ends the program as always.
class Interrupt {
 public:
  Interrupt() {
    happened_ = 0;
    struct sigaction remember = {};
    remember.sa_handler = [](int) { happened_ = 1; };
    remember.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &remember, &before_);
  }
  ~Interrupt() { sigaction(SIGINT, &before_, nullptr); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool happened() { return happened_ != 0; }

 private:
  static inline volatile std::sig_atomic_t happened_ = 0;
  struct sigaction before_ = {};
};

}  // namespace qw::cli
