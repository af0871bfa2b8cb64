#include "data/formats/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

char most_frequent_separator(std::string_view first_line) {
  char best = ',';
  for (const char candidate : {';', '\t'}) {
    const auto count = [&](char c) { return std::count(first_line.begin(), first_line.end(), c); };
    if (count(candidate) > count(best)) best = candidate;
  }
  return best;
}

size_t end_of_rows(std::string_view text) { return text.find_last_not_of("\r\n") + 1; }

constexpr std::string_view kMark = "\xEF\xBB\xBF";

}  // namespace

SeparatorLine separator_line(std::string_view text) {
  const size_t start = text.starts_with(kMark) ? kMark.size() : 0;
  const size_t end = std::min(text.find('\n', start), text.size());
  std::string_view line = text.substr(start, end - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() >= 2 && line.starts_with('"') && line.ends_with('"'))
    line = line.substr(1, line.size() - 2);
  constexpr std::string_view kWord = "sep=";
  if (line.size() != kWord.size() + 1 || lower(line.substr(0, kWord.size())) != kWord) return {};
  return {line.back(), std::min(end + 1, text.size())};
}

bool is_tab_file(std::string_view name) {
  std::string ending = lower(name);
  if (ending.ends_with(".gz")) ending.resize(ending.size() - 3);
  return ending.ends_with(".tsv") || ending.ends_with(".tab");
}

CsvScanner::CsvScanner(std::string_view text, std::string label)
    : text_(text), label_(std::move(label)), end_of_rows_(end_of_rows(text)) {
  if (const SeparatorLine named = separator_line(text_); named.separator != '\0') {
    separator_ = named.separator;
    position_ = named.end;
    line_ = 2;
    return;
  }
  if (text_.starts_with(kMark)) position_ = kMark.size();
  const size_t start = std::min(text_.find_first_not_of("\r\n", position_), text_.size());
  const std::string_view first_line = text_.substr(start, text_.find('\n', start) - start);
  const bool has_tabs = is_tab_file(label_) && first_line.find('\t') != std::string_view::npos;
  separator_ = has_tabs ? '\t' : most_frequent_separator(first_line);
}

CsvScanner::CsvScanner(std::string_view text, std::string label, char separator, int64_t first_line)
    : text_(text),
      label_(std::move(label)),
      end_of_rows_(end_of_rows(text)),
      line_(first_line),
      separator_(separator) {}

bool CsvScanner::skip_line_end() {
  if (position_ < text_.size() && text_[position_] == '\r') ++position_;
  if (position_ < text_.size() && text_[position_] == '\n') {
    ++position_;
    ++line_;
    return true;
  }
  return position_ == text_.size();
}

void CsvScanner::skip_line() {
  position_ = std::min(text_.find('\n', position_), text_.size());
  skip_line_end();
}

std::string_view CsvScanner::unquoted_field() {
  const size_t begin = position_;
  while (position_ < text_.size() && text_[position_] != separator_ && text_[position_] != '\n') ++position_;
  size_t end = position_;
  if (end > begin && text_[end - 1] == '\r' && (end == text_.size() || text_[end] == '\n')) --end;
  return text_.substr(begin, end - begin);
}

std::string_view CsvScanner::quoted_field() {
  const int64_t opened = line_;
  const size_t begin = ++position_;
  size_t escapes = 0;
  while (true) {
    const size_t quote = text_.find('"', position_);
    if (quote == std::string_view::npos) fail_at_line(label_, opened, "a quote is opened and never closed");
    line_ += std::count(text_.begin() + position_, text_.begin() + quote, '\n');
    position_ = quote + 1;
    if (position_ == text_.size() || text_[position_] != '"') break;
    ++position_;
    ++escapes;
  }
  const std::string_view raw = text_.substr(begin, position_ - 1 - begin);
  const char after = position_ == text_.size() ? '\n' : text_[position_];
  if (after != separator_ && after != '\n' && after != '\r') {
    fail_at_line(label_, line_,
                 fmt::format("{} follows a closing quote; a quote inside a field is written twice",
                             in_quotes(text_.substr(position_, 1))));
  }
  if (escapes == 0) return raw;
  std::string& plain = unescaped_.emplace_back();
  plain.reserve(raw.size() - escapes);
  for (size_t i = 0; i < raw.size(); ++i) {
    plain += raw[i];
    i += raw[i] == '"';
  }
  return plain;
}

bool CsvScanner::next(std::vector<std::string_view>& fields) {
  fields.clear();
  unescaped_.clear();
  const bool has_more = position_ < end_of_rows_;
  const auto at_blank_line = [&] {
    return position_ < text_.size() && (text_[position_] == '\n' || text_.substr(position_, 2) == "\r\n");
  };
  const auto at_comment = [&] {
    return skip_comments_ && position_ < text_.size() && (text_[position_] == '#' || text_[position_] == '%');
  };
  while (at_comment() || (at_blank_line() && !(keep_blank_rows_ && has_more))) skip_line();
  if (position_ == text_.size()) return false;
  row_line_ = line_;
  while (true) {
    const bool is_quoted = position_ < text_.size() && text_[position_] == '"';
    fields.push_back(is_quoted ? quoted_field() : unquoted_field());
    if (position_ < text_.size() && text_[position_] == separator_) {
      ++position_;
    } else if (skip_line_end()) {
      return true;
    } else {
      fail_at_line(label_, line_, "a carriage return stands inside a line");
    }
  }
}

CsvHeader header_of(const std::vector<std::string_view>& fields, const std::string& label, int64_t line) {
  CsvHeader header{label, {}};
  for (const std::string_view field : fields) header.names.emplace_back(trim(field));
  std::vector<std::string> sorted_names = header.names;
  std::sort(sorted_names.begin(), sorted_names.end());
  const auto twice = std::adjacent_find(sorted_names.begin(), sorted_names.end());
  if (twice != sorted_names.end()) {
    fail_at_line(label, line, fmt::format("two columns are named {}", in_quotes(*twice)));
  }
  return header;
}

CsvHeader read_header(CsvScanner& scanner) {
  std::vector<std::string_view> fields;
  if (!scanner.next(fields))
    fail(fmt::format("{}: is empty; expected a header line with column names", scanner.label()));
  return header_of(fields, scanner.label(), scanner.line());
}

size_t CsvHeader::column(std::string_view name, std::string_view option) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const bool is_undivided = names.size() == 1 && names[0].find_first_of("| ") != std::string::npos;
    fail_usage(fmt::format("{}: {}: column {}{}", label, option, unknown_name(name, names),
                           is_undivided ? "; fields are divided by commas, semicolons or tabs" : ""));
  }
  return static_cast<size_t>(found - names.begin());
}

}  // namespace qw
