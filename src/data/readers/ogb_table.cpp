#include "data/readers/ogb_table.h"

#include <fmt/format.h>

#include <limits>

#include "qw/core/error.h"

namespace qw {

std::optional<std::string> find_csv(const FileSet& files, const std::string& stem) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    if (files.has(stem + ending)) return stem + ending;
  }
  return std::nullopt;
}

std::string csv_name(const FileSet& files, const std::string& stem) {
  return find_csv(files, stem).value_or(stem + ".csv.gz");
}

NumberTable::NumberTable(const FileSet& files, const std::string& stem) {
  const std::string name = csv_name(files, stem);
  label_ = files.label(name);
  own_text_ = files.read_text(name);
  text_ = own_text_;
  measure();
}

NumberTable::NumberTable(std::string_view text, std::string label) : label_(std::move(label)), text_(text) {
  measure();
}

void NumberTable::measure() {
  rows_ = count_lines(text_);
  LineScanner lines(text_, label_);
  if (!lines.next()) return;
  std::string_view field;
  for (SeparatedFields fields(lines.line(), ','); fields.next(field);) ++columns_;
  if (columns_ > (static_cast<int64_t>(text_.size()) + 1) / rows_) {
    lines.reject(
        fmt::format("{} columns and {} lines of them do not fit in {} bytes", columns_, rows_, text_.size()));
  }
}

void NumberTable::require_rows(int64_t expected, std::string_view what) const {
  if (rows_ != expected)
    fail(fmt::format("{}: expected {} lines, {}, found {}", label_, expected, what, rows_));
}

void NumberTable::require_columns(int64_t expected) const {
  if (rows_ > 0 && columns_ != expected) {
    fail_at_line(label_, 1, fmt::format("expected {} columns, found {}", expected, columns_));
  }
}

void NumberTable::refuse_length(const LineScanner& lines, int64_t found) const {
  lines.reject(fmt::format("expected {} columns, found {}", columns_, found));
}

int64_t read_count(const FileSet& files, const std::string& stem, std::string_view what) {
  const NumberTable table(files, stem);
  table.require_rows(1, "since a node-property data set is one graph");
  table.require_columns(1);
  int64_t count = 0;
  table.each_field([&](const LineScanner& lines, int64_t, int64_t, std::string_view field) {
    count = lines.integer_in(field, what, 0, std::numeric_limits<int64_t>::max());
  });
  return count;
}

}  // namespace qw
