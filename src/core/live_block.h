// Lines at the bottom of a terminal that change while work goes on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qw {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};
TerminalSize terminal_size();  // of stderr; as above where it is no terminal

// Whether lines can be drawn on stderr: it is a terminal, the process is not quiet, TERM is not "dumb", and
// NO_COLOR, the wish for plain text, is not set.
bool can_draw_live();

// Whether the locale, by its name, is of UTF-8. A locale that nobody chose counts as UTF-8.
bool shows_unicode();

int columns_of(std::string_view text);  // characters of UTF-8, each of one column
std::string cut_to(std::string_view text, int columns);

// Between two draws the cursor stands at the start of the empty line below the block, so that a program that
// is killed leaves the terminal in order. For use by one thread at a time.
class LiveBlock {
 public:
  LiveBlock() = default;
  LiveBlock(const LiveBlock&) = delete;
  LiveBlock& operator=(const LiveBlock&) = delete;
  ~LiveBlock() { wipe(); }

  // Replaces what was drawn last. Lines are cut before the last column, where a terminal may wrap. A process
  // in the background draws nothing.
  void draw(const std::vector<std::string>& lines);
  void wipe();  // the next output starts where the block was

 private:
  std::string back_to_start() const;

  std::vector<int> drawn_;  // the columns of each line
};

}  // namespace qw
