#include "data/formats/node_text.h"

#include <algorithm>

#include "data/formats/node_ids.h"

namespace qw {
namespace {

// Whether the cells are first, first + 1, ...
bool count_from(const std::vector<std::string>& cells, int64_t first) {
  for (size_t row = 0; row < cells.size(); ++row) {
    if (parse_integer(without_zero_fraction(cells[row])) != first + static_cast<int64_t>(row)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> header_names(const NodeText& nodes) {
  CsvScanner scanner(nodes.text, nodes.label);
  return read_header(scanner).names;
}

std::vector<std::string> column_cells(const NodeText& nodes, size_t column) {
  std::vector<std::string> cells;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& row) { cells.emplace_back(row[column]); });
  return cells;
}

bool are_distinct(const std::vector<std::string>& cells) {
  NameTable seen;
  for (const std::string& cell : cells) {
    if (cell.empty()) return false;
    seen.find_or_add(cell);
  }
  return seen.size() == cells.size();
}

bool counts_rows(const std::vector<std::string>& cells) {
  return count_from(cells, 0) || count_from(cells, 1);
}

bool is_target(const std::string& column, const LoadOptions& options) {
  const std::vector<std::string> targets = split(options.target, ',');
  return column == options.target ||
         std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return trim(target) == column; });
}

bool is_free(const std::string& column, const LoadOptions& options) {
  const auto lists = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), column) != names.end();
  };
  return column != options.id && !is_target(column, options) && column != options.split_column &&
         !lists(options.features) && !lists(options.drop);
}

}  // namespace qw
