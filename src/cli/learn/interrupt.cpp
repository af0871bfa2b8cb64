#include "cli/learn/interrupt.h"

#include <csignal>

namespace qw::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void on_signal(int signal) {
  interrupts = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupts = 0;
  for (const int signal : {SIGINT, SIGTERM}) {
    // Those that nohup and shells' background jobs ignore stay ignored.
    if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

InterruptWatch::~InterruptWatch() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

bool InterruptWatch::interrupted() const { return interrupts != 0; }

}  // namespace qw::cli
