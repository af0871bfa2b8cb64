#include "core/live_block.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/progress.h"
#include "core/text.h"

namespace qw {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_at_once(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool begins_character(char byte) { return (byte & 0xC0) != 0x80; }

bool in_background() {
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  return foreground >= 0 && foreground != ::getpgrp();
}

}  // namespace

TerminalSize terminal_size() {
  TerminalSize size;
  winsize found{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col > 0) size.columns = found.ws_col;
  if (found.ws_row > 0) size.rows = found.ws_row;
  return size;
}

bool can_draw_live() {
  return !quiet() && ::isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb" &&
         environment("NO_COLOR").empty();
}

bool shows_unicode() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = lower(environment(name));
  }
  if (locale.empty() || locale == "c" || locale == "posix") return true;
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut_to(std::string_view text, int columns) {
  size_t end = 0;
  while (end < text.size() && (!begins_character(text[end]) || columns-- > 0)) ++end;
  return std::string(text.substr(0, end));
}

// Terminals wrap lines anew when they become narrower, so that a line may stand on several rows by now.
std::string LiveBlock::back_to_start() const {
  const int width = terminal_size().columns;
  int rows = 0;
  for (const int columns : drawn_) rows += std::max(1, (columns + width - 1) / width);
  return rows == 0 ? "" : fmt::format("\r\x1b[{}A", rows);
}

void LiveBlock::draw(const std::vector<std::string>& lines) {
  if (in_background()) return drawn_.clear();
  std::string text = back_to_start();
  const int width = terminal_size().columns - 1;
  drawn_.clear();
  for (const std::string& line : lines) {
    const std::string shown = cut_to(line, width);
    text += shown + "\x1b[K\n";
    drawn_.push_back(columns_of(shown));
  }
  write_at_once(text + "\x1b[J");
}

void LiveBlock::wipe() {
  if (drawn_.empty()) return;
  if (!in_background()) write_at_once(back_to_start() + "\x1b[J");
  drawn_.clear();
}

}  // namespace qw
