// How an edge file is laid out, found out from its first lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/edge_rows.h"
#include "data/formats/numbers.h"
#include "qw/data/load.h"

namespace qw {

struct EdgeLayout {
  static constexpr size_t kNoColumn = static_cast<size_t>(-1);

  std::string label;
  RowStyle style;
  std::string_view table;  // of the text, from the first row on, be it a header or an edge
  int64_t table_line = 1;
  std::string_view rows;  // of the text, from the first edge on
  int64_t first_line = 1;
  size_t width = 2;  // fields per row

  bool has_header = false;
  bool header_is_guess = false;    // text stands where another file would have an edge of text
  bool names_are_ends = false;     // the header says which columns are the ends
  std::vector<std::string> names;  // of the columns; "1", "2", ... without a header

  size_t tail = 0;  // an edge goes from here ...
  size_t head = 1;  // ... to there
  size_t cost = kNoColumn;
  size_t weight = kNoColumn;
  NumberFormat numbers;        // of costs and weights
  std::string cost_attribute;  // in the dict of networkx instead of a column; empty: none
  std::string weight_attribute;

  bool bipartite = false;          // the two columns count their nodes apart
  std::vector<std::string> notes;  // what was guessed
};

// options.header decides whether the first row is a header; "auto": it is one when it names known ends
// (source, target; from, to; ...) or a column that the options ask for, and unless its first two fields are
// numbers or blanks divide it. Throws qw::Error on a file without rows or with one column, and
// qw::UsageError on columns that are not there, and on rows such as `ann knows bob` without named ends.
EdgeLayout find_edge_layout(std::string_view text, const std::string& label, const LoadOptions& options);

}  // namespace qw
