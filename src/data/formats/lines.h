// Text of lines and fields, read where it lies: nothing is copied or allocated per line or field.
//
// A line ends at LF or CRLF; the last one need not end. A UTF-8 byte order mark at the front and empty lines
// at the end of the text are no part of it. Lines count from 1.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qw {

// Walks over the lines of a text, which must outlive it:
//   LineScanner lines(text, "edges.txt");
//   while (lines.next()) use(lines.line());
// The functions that read a field throw qw::Error "edges.txt:17: node id '12x' is not an integer"; `what` is
// the name of the field in that message.
class LineScanner {
 public:
  LineScanner(std::string_view text, std::string label);

  bool next();  // on to the next line; false when there is none, and then line() stays the last one
  std::string_view line() const { return line_; }
  int64_t line_number() const { return line_number_; }  // 0 before the first next()

  // The whole field as a number: no blanks around it.
  int64_t integer(std::string_view field, std::string_view what) const;
  int64_t integer_in(std::string_view field, std::string_view what, int64_t first, int64_t last) const;
  double real(std::string_view field, std::string_view what) const;       // finite
  float real_float(std::string_view field, std::string_view what) const;  // finite also as a float

  // Throws "FILE:LINE: problem" for the current line.
  [[noreturn]] void reject(std::string_view problem) const;

 private:
  friend void for_line_chunks(std::string_view text, const std::string& label,
                              const std::function<void(LineScanner& lines)>& body);
  LineScanner() = default;

  std::string_view rest_;
  std::string_view line_;
  std::string label_;
  int64_t line_number_ = 0;
  bool ended_ = false;
};

// How often next() would return true.
int64_t count_lines(std::string_view text);

// Calls body for consecutive runs of lines that make up the text, from several threads when it is large; line
// numbers are those of the whole text. Of several errors the one nearest to the top is thrown, whatever the
// number of threads.
void for_line_chunks(std::string_view text, const std::string& label,
                     const std::function<void(LineScanner& lines)>& body);

// The fields of a line between single separators: "a,,b" has three, "" has one, which is empty.
class SeparatedFields {
 public:
  SeparatedFields(std::string_view line, char separator) : rest_(line), separator_(separator) {}

  bool next(std::string_view& field) {
    if (ended_) return false;
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != separator_) ++end;
    field = rest_.substr(0, end);
    ended_ = end == rest_.size();
    rest_.remove_prefix(ended_ ? end : end + 1);
    return true;
  }

 private:
  std::string_view rest_;
  char separator_;
  bool ended_ = false;
};

// The fields of a line between runs of blanks and tabs; blanks at either end count for nothing, "" has no
// field.
class BlankFields {
 public:
  explicit BlankFields(std::string_view line) : rest_(line) {}

  bool next(std::string_view& field) {
    size_t begin = 0;
    while (begin < rest_.size() && is_blank(rest_[begin])) ++begin;
    size_t end = begin;
    while (end < rest_.size() && !is_blank(rest_[end])) ++end;
    field = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return !field.empty();
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  std::string_view rest_;
};

// Fills `fields` from the front and returns how many there are, which may be more than fit.
template <class Fields, size_t Size>
size_t split_fields(Fields source, std::array<std::string_view, Size>& fields) {
  size_t count = 0;
  for (std::string_view field; source.next(field); ++count) {
    if (count < Size) fields[count] = field;
  }
  return count;
}

}  // namespace qw
