#include "data/formats/edge_rows.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/text.h"

namespace qw {
namespace {

constexpr std::string_view kBlanks = " \t\r";

int64_t count_outside_quotes(std::string_view line, char wanted) {
  int64_t count = 0;
  bool inside = false;
  for (const char c : line) {
    inside ^= c == '"';
    count += !inside && c == wanted;
  }
  return count;
}

bool begins_with_two_integers(std::string_view line, char separator) {
  std::array<std::string_view, 3> fields;
  RowStyle style;
  style.separator = separator;
  if (split_row(line, style, fields.data(), fields.size()) < 2) return false;
  return parse_integer(trim(fields[0])).has_value() && parse_integer(trim(fields[1])).has_value();
}

size_t split_blanks(std::string_view line, std::string_view* fields, size_t most) {
  size_t count = 0;
  while (count < most) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) break;
    const size_t closing = line.front() == '"' ? line.find('"', 1) : std::string_view::npos;
    const bool is_quoted =
        closing != std::string_view::npos &&
        (closing + 1 == line.size() || kBlanks.find(line[closing + 1]) != std::string_view::npos);
    const size_t end = is_quoted ? closing + 1 : std::min(line.find_first_of(kBlanks), line.size());
    fields[count++] = is_quoted ? line.substr(1, closing - 1) : line.substr(0, end);
    line.remove_prefix(end);
  }
  return count;
}

size_t split_at(std::string_view line, char separator, std::string_view* fields, size_t most) {
  size_t count = 0;
  while (count < most) {
    const size_t end = line.find(separator);
    fields[count++] = line.substr(0, end);
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return count;
}

// Where the dict at the end of a row begins, if there is one.
std::optional<size_t> start_of_dict(std::string_view line) {
  const size_t start = line.find('{');
  const bool ends_in_brace =
      !line.empty() && line[std::min(line.find_last_not_of(kBlanks), line.size() - 1)] == '}';
  if (!ends_in_brace || start == std::string_view::npos || start == 0) return std::nullopt;
  return start;
}

}  // namespace

RowStyle style_of_row(std::string_view line) {
  RowStyle style;
  if (const auto dict = start_of_dict(line)) {
    style.attributes = true;
    line = line.substr(0, *dict);
  }
  line = trim(line);
  int64_t most = 0;
  for (const char candidate : {',', ';', '\t'}) {
    const int64_t count = count_outside_quotes(line, candidate);
    if (count > most) {
      style.separator = candidate;
      most = count;
    }
  }
  const bool has_blanks = line.find(' ') != std::string_view::npos;
  const bool only_blanks = most == 0 && has_blanks;
  const bool numbers_between_blanks =
      has_blanks && begins_with_two_integers(line, ' ') && !begins_with_two_integers(line, style.separator);
  if (only_blanks || numbers_between_blanks) style.separator = ' ';
  return style;
}

size_t split_row(std::string_view line, const RowStyle& style, std::string_view* fields, size_t most) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string_view dict;
  if (style.attributes) {
    const size_t start = start_of_dict(line).value_or(line.size());
    dict = line.substr(start);
    line = line.substr(0, start);
    const bool divided = style.separator != ' ' && !dict.empty() && trim(line).ends_with(style.separator);
    if (divided) line = line.substr(0, line.rfind(style.separator));
  }
  size_t count = style.separator == ' ' ? split_blanks(line, fields, most)
                                        : split_at(line, style.separator, fields, most);
  if (!dict.empty() && count < most) fields[count++] = dict;
  return count;
}

std::vector<std::pair<std::string_view, std::string_view>> attributes_of(std::string_view dict) {
  std::vector<std::pair<std::string_view, std::string_view>> attributes;
  dict = trim(dict);
  if (!dict.starts_with('{') || !dict.ends_with('}')) return attributes;
  dict = trim(dict.substr(1, dict.size() - 2));
  // Up to `stop` outside quotes and brackets.
  const auto take = [&](char stop) {
    char quote = 0;
    int depth = 0;
    size_t at = 0;
    for (; at < dict.size(); ++at) {
      const char c = dict[at];
      if (quote != 0) {
        if (c == '\\') ++at;
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == stop && depth == 0) {
        break;
      } else {
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
      }
    }
    std::string_view taken = trim(dict.substr(0, std::min(at, dict.size())));
    dict.remove_prefix(std::min(at + 1, dict.size()));
    const bool is_quoted =
        taken.size() >= 2 && (taken.front() == '\'' || taken.front() == '"') && taken.front() == taken.back();
    return is_quoted ? taken.substr(1, taken.size() - 2) : taken;
  };
  while (!trim(dict).empty()) {
    const std::string_view name = take(':');
    attributes.emplace_back(name, take(','));
  }
  return attributes;
}

EdgeRowScanner::EdgeRowScanner(std::string_view text, const std::string& label, const RowStyle& style,
                               int64_t first_line)
    : text_(text), style_(style), quoted_(text, label, style.separator, first_line), next_line_(first_line) {
  if (style.comments) quoted_.skip_comments();
}

bool EdgeRowScanner::next(std::vector<std::string_view>& fields) {
  if (!style_.is_by_line()) return quoted_.next(fields);
  while (position_ < text_.size()) {
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    const std::string_view line = text_.substr(position_, end - position_);
    position_ = std::min(end + 1, text_.size());
    line_ = next_line_++;
    if (is_blank_line(line) || (style_.comments && is_comment_line(line))) continue;
    fields.resize(line.size() / 2 + 2);
    fields.resize(split_row(line, style_, fields.data(), fields.size()));
    return true;
  }
  return false;
}

}  // namespace qw
