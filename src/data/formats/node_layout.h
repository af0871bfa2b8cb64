// Which column of a node table serves for what, and the walk over its rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "data/formats/csv.h"
#include "data/formats/numbers.h"
#include "qw/data/load.h"

namespace qw {

struct NodeLayout {
  static constexpr size_t kNoColumn = static_cast<size_t>(-1);

  CsvHeader header;
  size_t id = kNoColumn;
  size_t split = kNoColumn;
  std::vector<size_t> targets;
  std::vector<size_t> features;
  std::vector<bool> asked_for;  // by column: it stands in --features
  std::vector<bool> dropped;    // by column: it stands in --drop

  // Throws qw::UsageError when options name an unknown column, or one column for two purposes.
  NodeLayout(CsvHeader names, const LoadOptions& options);

  bool is_target(size_t column) const;

 private:
  void take_special_columns(const LoadOptions& options);
};

// A node table as text, and how to read it.
struct NodeTableText {
  std::string_view text;
  NodeLayout layout;
  MissingSpellings missing;
  char separator = ',';

  const std::string& label() const { return layout.header.label; }
  const std::string& name(size_t column) const { return layout.header.names[column]; }
};

[[noreturn]] void fail_on_row_length(const NodeLayout& layout, size_t found, int64_t line);

// Calls visit(cells, line) for every row, after checking its length. Cells have no blanks around them.
template <class Visit>
void for_rows(const NodeTableText& table, const Visit& visit) {
  CsvScanner scanner(table.text, table.label());
  std::vector<std::string_view> cells;
  scanner.next(cells);
  if (cells.size() == 1) scanner.keep_blank_rows();
  while (scanner.next(cells)) {
    if (cells.size() != table.layout.header.names.size())
      fail_on_row_length(table.layout, cells.size(), scanner.line());
    for (std::string_view& cell : cells) cell = trim(cell);
    visit(cells, scanner.line());
  }
}

}  // namespace qw
