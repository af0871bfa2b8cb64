// Comma-separated text as people write it: quoted fields, "" for a quote, CRLF or LF, a byte-order mark,
// blank lines, and a comma, semicolon or tab between fields, whichever the first line has most of.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace qw {

// The line "sep=;" that Excel writes first: what divides the fields, and where the next line begins.
struct SeparatorLine {
  char separator = '\0';  // none: there is no such line
  size_t end = 0;
};
SeparatorLine separator_line(std::string_view text);

// Whether a file of this name has tabs between its fields: .tsv, .tab, also compressed.
bool is_tab_file(std::string_view name);

// What pandas calls a column that had no name when it reads its own index back: "Unnamed: 0".
inline bool is_unnamed(std::string_view column) { return column.empty() || column.starts_with("Unnamed: "); }

// A view of `text`, which must outlive it. A first line "sep=;" is heeded and no row; in a file that is
// called .tsv or .tab a tab in the first line divides fields whatever else is there.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string label);
  // For text that continues a file: its separator is known and its first line has a number.
  CsvScanner(std::string_view text, std::string label, char separator, int64_t first_line);

  // The next row that is not blank, or false at the end. The fields live until the next call. Throws on a
  // quote that is never closed and on text after a closing quote.
  bool next(std::vector<std::string_view>& fields);

  // From now on a blank line is a row with one empty field, unless only blank lines follow: in a table of one
  // column it is a missing cell.
  void keep_blank_rows() { keep_blank_rows_ = true; }

  // From now on lines that begin with # or % are no rows.
  void skip_comments() { skip_comments_ = true; }

  int64_t line() const { return row_line_; }  // where the last row began, from 1
  char separator() const { return separator_; }
  const std::string& label() const { return label_; }
  size_t position() const { return position_; }  // where the next row begins

 private:
  std::string_view unquoted_field();
  std::string_view quoted_field();
  bool skip_line_end();
  void skip_line();

  std::string_view text_;
  std::string label_;
  size_t end_of_rows_;  // only blank lines follow
  size_t position_ = 0;
  int64_t line_ = 1;
  int64_t row_line_ = 0;
  char separator_ = ',';
  bool keep_blank_rows_ = false;
  bool skip_comments_ = false;
  std::deque<std::string> unescaped_;  // fields that had "" in them
};

// The first row as column names.
struct CsvHeader {
  std::string label;
  std::vector<std::string> names;

  // Throws "nodes.csv: column 'x' is unknown; ..." when there is no such column; `option` says who asked.
  size_t column(std::string_view name, std::string_view option) const;
};

// Throws on two columns of the same name.
CsvHeader header_of(const std::vector<std::string_view>& fields, const std::string& label, int64_t line);

// The next row; throws on a file without a header, too.
CsvHeader read_header(CsvScanner& scanner);

}  // namespace qw
