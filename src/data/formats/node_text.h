// The text of a node table before it is read: looks into its columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "data/formats/csv.h"
#include "qw/data/load.h"

namespace qw {

// The text of a node table on its way to read_node_csv.
struct NodeText {
  std::string text;
  std::string label;
};

// Calls visit(cells) for every row below the header; stops at a row that read_node_csv will refuse.
template <class Visit>
void for_node_rows(const NodeText& nodes, const Visit& visit) {
  CsvScanner scanner(nodes.text, nodes.label);
  std::vector<std::string_view> cells;
  if (!scanner.next(cells)) return;
  const size_t width = cells.size();
  if (width == 1) scanner.keep_blank_rows();
  while (scanner.next(cells) && cells.size() == width) {
    for (std::string_view& cell : cells) cell = trim(cell);
    visit(cells);
  }
}

std::vector<std::string> header_names(const NodeText& nodes);
std::vector<std::string> column_cells(const NodeText& nodes, size_t column);

// Whether no cell is empty and none stands twice.
bool are_distinct(const std::vector<std::string>& cells);

// Whether the cells are 0, 1, 2, ... or 1, 2, 3, ...
bool counts_rows(const std::vector<std::string>& cells);

bool is_target(const std::string& column, const LoadOptions& options);  // --target may name several columns
bool is_free(const std::string& column, const LoadOptions& options);    // no option names it

}  // namespace qw
