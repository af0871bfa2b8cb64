#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace qw::cli {
namespace {

bool looks_numeric(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,-+%e") == std::string::npos;
}

}  // namespace

std::string TextTable::text() const {
  const size_t columns = rows_.front().size();
  std::vector<size_t> width(columns, 0);
  std::vector<bool> numeric(columns, true);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < columns; ++c) {
      width[c] = std::max(width[c], row[c].size());
      if (&row != &rows_.front()) numeric[c] = numeric[c] && (row[c].empty() || looks_numeric(row[c]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      if (c > 0) line += "  ";
      line += numeric[c] ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace qw::cli
