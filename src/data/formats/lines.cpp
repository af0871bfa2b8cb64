#include "data/formats/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <vector>

#include "core/text.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr size_t kSmallestChunk = size_t{1} << 20;

std::string_view body_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text.substr(0, text.find_last_not_of("\r\n") + 1);
}

int64_t count_line_ends(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

// Cuts after line ends, so that the parts are about equally long; a part lacks the line end it was cut at.
std::vector<std::string_view> cut_at_lines(std::string_view text, size_t parts) {
  std::vector<std::string_view> result;
  size_t begin = 0;
  for (size_t part = 1; part < parts; ++part) {
    const size_t end = text.find('\n', std::max(begin, text.size() / parts * part));
    if (end == std::string_view::npos) break;
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  result.push_back(text.substr(begin));
  return result;
}

}  // namespace

LineScanner::LineScanner(std::string_view text, std::string label)
    : rest_(body_of(text)), label_(std::move(label)), ended_(rest_.empty()) {}

bool LineScanner::next() {
  if (ended_) return false;
  const size_t end = rest_.find('\n');
  ended_ = end == std::string_view::npos;
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(ended_ ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++line_number_;
  return true;
}

void LineScanner::reject(std::string_view problem) const { fail_at_line(label_, line_number_, problem); }

int64_t LineScanner::integer(std::string_view field, std::string_view what) const {
  const auto value = parse_integer(field);
  if (!value) reject(fmt::format("{} {} is not an integer", what, in_quotes(field)));
  return *value;
}

int64_t LineScanner::integer_in(std::string_view field, std::string_view what, int64_t first,
                                int64_t last) const {
  const int64_t value = integer(field, what);
  if (value >= first && value <= last) return value;
  if (last < first) reject(fmt::format("{} {} cannot be: there are none", what, value));
  reject(fmt::format("{} {} is outside {} to {}", what, value, first, last));
}

double LineScanner::real(std::string_view field, std::string_view what) const {
  const auto value = parse_number(field);
  if (!value) reject(fmt::format("{} {} is not a number", what, in_quotes(field)));
  if (!std::isfinite(*value)) reject(fmt::format("{} {} is not finite", what, in_quotes(field)));
  return *value;
}

float LineScanner::real_float(std::string_view field, std::string_view what) const {
  const double value = real(field, what);
  if (std::abs(value) > std::numeric_limits<float>::max()) {
    reject(fmt::format("{} {} is too large for a 32-bit number", what, in_quotes(field)));
  }
  return static_cast<float>(value);
}

int64_t count_lines(std::string_view text) {
  const std::string_view body = body_of(text);
  return body.empty() ? 0 : count_line_ends(body) + 1;
}

void for_line_chunks(std::string_view text, const std::string& label,
                     const std::function<void(LineScanner& lines)>& body) {
  const std::string_view whole = body_of(text);
  if (whole.empty()) return;
  const size_t wanted =
      std::clamp<size_t>(whole.size() / kSmallestChunk, 1, static_cast<size_t>(thread_count()));
  const std::vector<std::string_view> chunks = cut_at_lines(whole, wanted);
  const auto parts = static_cast<int>(chunks.size());

  std::vector<int64_t> lines_before(chunks.size(), 0);
  parallel_tasks(parts - 1, [&](int part) { lines_before[part + 1] = count_line_ends(chunks[part]) + 1; });
  std::partial_sum(lines_before.begin(), lines_before.end(), lines_before.begin());

  std::vector<std::exception_ptr> errors(chunks.size());
  parallel_tasks(parts, [&](int part) {
    LineScanner lines;
    lines.rest_ = chunks[part];
    lines.label_ = label;
    lines.line_number_ = lines_before[part];
    try {
      body(lines);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace qw
