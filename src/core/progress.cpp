#include "core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/live_block.h"
#include "core/text.h"

namespace qw {
namespace {

std::atomic<bool> process_is_quiet{false};

std::string amount_text(double amount, const std::string& unit) {
  if (unit == "bytes") return human_bytes(amount);
  const std::string number = amount < 10 && amount != std::floor(amount)
                                 ? fmt::format("{:.1f}", amount)
                                 : with_thousands(std::llround(amount));
  return fmt::format("{} {}", number, unit);
}

std::string bar_text(double fraction, size_t length) {
  const size_t filled = std::min(length, static_cast<size_t>(fraction * static_cast<double>(length)));
  std::string bar(length, ' ');
  std::fill_n(bar.begin(), filled, '=');
  if (filled < length) bar[filled] = '>';
  return "[" + bar + "] ";
}

}  // namespace

void set_quiet(bool quiet) { process_is_quiet = quiet; }

bool quiet() { return process_is_quiet; }

std::string time_text(double seconds) {
  constexpr double kLongest = 100 * 3600;
  if (seconds >= kLongest) return "over 100 h";
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(const ProgressState& state, int width) {
  constexpr int kShortestBar = 5;
  constexpr int kLongestBar = 30;
  const bool total_known = state.total > 0;
  const auto done = static_cast<double>(state.done);
  const auto total = static_cast<double>(state.total);

  std::string left = state.title + "  ";
  std::string right = amount_text(done, state.unit);
  if (total_known) right += " of " + amount_text(total, state.unit);
  if (state.speed > 0) right += ", " + amount_text(state.speed, state.unit) + "/s";
  if (total_known) {
    const double fraction = std::clamp(done / total, 0.0, 1.0);
    left += fmt::format("{:.0f}% ", std::floor(100 * fraction));
    if (state.speed > 0) right += ", " + time_text(std::max(0.0, total - done) / state.speed) + " left";
    const int room = width - static_cast<int>(left.size() + right.size()) - 3;
    if (room >= kShortestBar) left += bar_text(fraction, static_cast<size_t>(std::min(room, kLongestBar)));
  }
  return (left + right).substr(0, static_cast<size_t>(std::max(0, width)));
}

ProgressBar::ProgressBar(std::string title, int64_t total, std::string unit)
    : state_{.title = std::move(title), .unit = std::move(unit), .total = total},
      active_(!quiet() && ::isatty(STDERR_FILENO) != 0) {}

void ProgressBar::update(int64_t done) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  if (first_done_ < 0) {
    first_done_ = done;
    first_time_ = now;
  }
  if (drawn_ && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  const double seconds = std::chrono::duration<double>(now - first_time_).count();
  state_.done = done;
  state_.speed = seconds > 0 ? static_cast<double>(done - first_done_) / seconds : 0;
  // One column stays free: a terminal that wraps at the last one would start a new line.
  fmt::print(stderr, "\r{}\033[K", progress_line(state_, terminal_size().columns - 1));
  std::fflush(stderr);
  drawn_ = true;
  last_drawn_ = now;
}

void ProgressBar::finish() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace qw
