// The CSV files of OGB folders: numbers without header or quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "data/file_set.h"
#include "data/formats/lines.h"

namespace qw {

// The file STEM.csv.gz or STEM.csv, if there is one.
std::optional<std::string> find_csv(const FileSet& files, const std::string& stem);

// Of a file that must be there: when it is not, reading it says so.
std::string csv_name(const FileSet& files, const std::string& stem);

// One table, held as text until its fields are visited.
class NumberTable {
 public:
  NumberTable(const FileSet& files, const std::string& stem);
  // Of text that lies elsewhere and outlives the table.
  NumberTable(std::string_view text, std::string label);
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;

  const std::string& label() const { return label_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  size_t bytes() const { return text_.size(); }

  void require_rows(int64_t expected, std::string_view what) const;
  void require_columns(int64_t expected) const;

  // Calls visit(lines, row, column, field) for every field, rows in parallel; throws when a row is not as
  // long as the first.
  template <class Visit>
  void each_field(const Visit& visit) const {
    for_line_chunks(text_, label_, [&](LineScanner& lines) {
      while (lines.next()) visit_row(lines, visit);
    });
  }

  // The same row by row, and row_done(place in the text) after each.
  template <class Visit, class RowDone>
  void each_field_in_order(const Visit& visit, const RowDone& row_done) const {
    LineScanner lines(text_, label_);
    while (lines.next()) {
      visit_row(lines, visit);
      row_done(static_cast<size_t>(lines.line().data() - text_.data()));
    }
  }

 private:
  void measure();

  template <class Visit>
  void visit_row(LineScanner& lines, const Visit& visit) const {
    const int64_t row = lines.line_number() - 1;
    int64_t column = 0;
    SeparatedFields fields(lines.line(), ',');
    for (std::string_view field; fields.next(field); ++column) {
      if (column < columns_) visit(lines, row, column, field);
    }
    if (column != columns_) refuse_length(lines, column);
  }
  [[noreturn]] void refuse_length(const LineScanner& lines, int64_t found) const;

  std::string label_;
  std::string own_text_;
  std::string_view text_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

// The one number of STEM.csv.
int64_t read_count(const FileSet& files, const std::string& stem, std::string_view what);

}  // namespace qw
