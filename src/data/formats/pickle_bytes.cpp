#include "data/formats/pickle_bytes.h"

#include <fmt/format.h>

#include <optional>

#include "core/text.h"
#include "data/formats/utf8.h"
#include "qw/core/error.h"

namespace qw {

void PickleBytes::problem(std::string_view what) const { fail_at_byte(label_, opcode_at_, what); }

std::string_view PickleBytes::take(uint64_t size, const char* what) {
  if (size > left()) problem(fmt::format("{} of {} bytes is cut short: {} are left", what, size, left()));
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

unsigned char PickleBytes::opcode() {
  opcode_at_ = at_;
  if (left() == 0) problem("the pickle ends without its last instruction, STOP");
  return static_cast<unsigned char>(bytes_[at_++]);
}

std::string_view PickleBytes::text(uint64_t size) { return take(size, "text"); }

uint64_t PickleBytes::little(size_t size) {
  const std::string_view raw = take(size, "a number");
  uint64_t value = 0;
  for (size_t k = size; k-- > 0;) value = value << 8 | static_cast<unsigned char>(raw[k]);
  return value;
}

int64_t PickleBytes::long_integer(uint64_t size) {
  if (size > 8) problem(fmt::format("an integer of {} bytes; at most 8 are read", size));
  if (size == 0) return 0;
  const int unused = 64 - 8 * static_cast<int>(size);
  return static_cast<int64_t>(little(size) << unused) >> unused;
}

std::string_view PickleBytes::line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) problem("expected a line, found no end of it");
  const std::string_view found = take(end - at_, "a line");
  ++at_;
  return found;
}

int64_t PickleBytes::integer(std::string_view digits) const {
  const std::optional<int64_t> value = parse_integer(digits);
  if (!value) problem(fmt::format("expected an integer of 64 bits, found {}", in_quotes(digits)));
  return *value;
}

int64_t PickleBytes::integer_line() { return integer(line()); }

double PickleBytes::number_line() {
  const std::string_view digits = line();
  const std::optional<double> value = parse_number(digits);
  if (!value) problem(fmt::format("expected a number, found {}", in_quotes(digits)));
  return *value;
}

std::string PickleBytes::bytes_line() {
  constexpr std::string_view kEscapes = "\\'\"nrt";
  constexpr std::string_view kMeanings = "\\'\"\n\r\t";
  std::string_view repr = line();
  const bool quotes =
      repr.size() >= 2 && (repr.front() == '\'' || repr.front() == '"') && repr.back() == repr.front();
  if (!quotes) problem(fmt::format("expected text between quotes, found {}", in_quotes(repr)));
  repr = repr.substr(1, repr.size() - 2);
  std::string plain;
  for (size_t at = 0; at < repr.size(); ++at) {
    if (repr[at] != '\\') {
      plain += repr[at];
      continue;
    }
    const char escape = ++at < repr.size() ? repr[at] : '\0';
    if (const size_t known = kEscapes.find(escape); known != std::string_view::npos) {
      plain += kMeanings[known];
    } else if (escape == 'x') {
      plain += static_cast<char>(hexadecimal(repr, at + 1, 2));
      at += 2;
    } else {
      problem(fmt::format("text has an unknown escape in {}", in_quotes(repr)));
    }
  }
  return plain;
}

std::string PickleBytes::unicode_line() {
  const std::string_view raw = line();
  std::string plain;
  for (size_t at = 0; at < raw.size(); ++at) {
    uint32_t code_point = static_cast<unsigned char>(raw[at]);
    const char escape = raw[at] == '\\' && at + 1 < raw.size() ? raw[at + 1] : '\0';
    if (escape == 'u' || escape == 'U') {
      const size_t digits = escape == 'u' ? 4 : 8;
      code_point = hexadecimal(raw, at + 2, digits);
      at += 1 + digits;
    }
    if (!append_utf8(plain, code_point)) problem(fmt::format("0x{:x} is not a character", code_point));
  }
  return plain;
}

uint32_t PickleBytes::hexadecimal(std::string_view around, size_t at, size_t digits) const {
  uint32_t value = 0;
  for (size_t k = 0; k < digits; ++k) {
    const char digit = at + k < around.size() ? lower(around.substr(at + k, 1)).front() : '\0';
    const size_t nibble = std::string_view("0123456789abcdef").find(digit);
    if (nibble == std::string_view::npos)
      problem(fmt::format("text has an unknown escape in {}", in_quotes(around)));
    value = value << 4 | static_cast<uint32_t>(nibble);
  }
  return value;
}

}  // namespace qw
