// Rows of an edge file, whatever divides their fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/csv.h"

namespace qw {

struct RowStyle {
  char separator = ',';     // ' ': runs of blanks and tabs
  bool attributes = false;  // a row ends in a Python dict, as networkx writes it; it is the last field
  bool comments = true;     // lines that begin with # or % are no rows

  bool is_by_line() const { return separator == ' ' || attributes; }  // no line end inside quotes
};

inline bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}
inline bool is_comment_line(std::string_view line) {
  return !line.empty() && (line.front() == '#' || line.front() == '%');
}

// How the row `line` is divided: by what stands most often between its fields.
RowStyle style_of_row(std::string_view line);

// Puts the fields of `line` into fields[0 .. most) and returns how many there are, at most `most`. Only
// fields between blanks may be in quotes.
size_t split_row(std::string_view line, const RowStyle& style, std::string_view* fields, size_t most);

// "{'weight': 2.0, 'kind': 'road'}" as names and values, quotes taken off; what is no such text has none.
std::vector<std::pair<std::string_view, std::string_view>> attributes_of(std::string_view dict);

// Row by row, for what need not be fast. A view of `text`, which must outlive it.
class EdgeRowScanner {
 public:
  EdgeRowScanner(std::string_view text, const std::string& label, const RowStyle& style, int64_t first_line);

  bool next(std::vector<std::string_view>& fields);  // the fields live until the next call
  int64_t line() const { return style_.is_by_line() ? line_ : quoted_.line(); }
  size_t position() const { return style_.is_by_line() ? position_ : quoted_.position(); }

 private:
  std::string_view text_;
  RowStyle style_;
  CsvScanner quoted_;
  size_t position_ = 0;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
};

}  // namespace qw
