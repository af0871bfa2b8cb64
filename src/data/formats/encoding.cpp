#include "data/formats/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "data/formats/utf8.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kLittleEndianMark = "\xFF\xFE";
constexpr std::string_view kBigEndianMark = "\xFE\xFF";

int64_t line_at(std::string_view text, size_t position) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
}

// Windows-1252 from 0x80 to 0x9F; 0 where the byte stands for nothing. From 0xA0 on it is Latin-1.
constexpr std::array<uint16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

std::string from_one_byte_code(std::string_view bytes, const std::string& label, bool windows) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    const bool in_table = byte >= 0x80 && byte < 0xA0;
    const uint32_t code_point = in_table && windows ? kWindows1252[byte - 0x80] : byte;
    if (in_table && (code_point == 0 || !windows)) {
      fail_at_line(label, line_at(bytes, at),
                   fmt::format("byte 0x{:02x} is no character in {}; name the encoding with --encoding", byte,
                               windows ? "windows-1252" : "latin-1"));
    }
    append_utf8(text, code_point);
  }
  return text;
}

std::string from_utf16(std::string_view bytes, const std::string& label) {
  const bool big_endian = bytes.starts_with(kBigEndianMark);
  if (big_endian || bytes.starts_with(kLittleEndianMark)) bytes.remove_prefix(2);
  if (bytes.size() % 2 != 0) fail(fmt::format("{}: UTF-16 has two bytes a character; one is missing", label));
  const auto unit = [&](size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<uint32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 2) {
    uint32_t code_point = unit(at);
    const bool opens_pair = code_point >= 0xD800 && code_point < 0xDC00;
    if (opens_pair && at + 2 < bytes.size() && unit(at + 2) >= 0xDC00 && unit(at + 2) < 0xE000) {
      at += 2;
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (unit(at) - 0xDC00);
    }
    if (!append_utf8(text, code_point)) {
      fail_at_line(label, line_at(text, text.size()),
                   "half a character of UTF-16; name the encoding with --encoding");
    }
  }
  return text;
}

// How many bytes the character at `at` has; 0 when it is not UTF-8.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[at + k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size() - at) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

// Where the first byte that is not UTF-8 is, or text.size().
size_t end_of_utf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
}

void refuse_control_bytes(std::string_view text, const std::string& label) {
  const auto found = std::find_if(text.begin(), text.end(), is_control);
  if (found == text.end()) return;
  const bool looks_like_utf16 =
      *found == '\0' && std::count(text.begin(), text.end(), '\0') > static_cast<int64_t>(text.size() / 4);
  fail_at_line(
      label, line_at(text, static_cast<size_t>(found - text.begin())),
      fmt::format("control byte 0x{:02x}; expected a text file{}", static_cast<unsigned char>(*found),
                  looks_like_utf16 ? " (if it is UTF-16, say so with --encoding utf-16)"
                                   : " (a spreadsheet is first saved as CSV)"));
}

// Lines of old Macintosh programs end in CR alone.
void mend_line_ends(std::string& text) {
  if (text.find('\n') == std::string::npos) std::replace(text.begin(), text.end(), '\r', '\n');
}

std::string decoded(std::string bytes, const std::string& label, const std::string& encoding,
                    std::vector<std::string>& notes) {
  const bool utf16_mark = bytes.starts_with(kLittleEndianMark) || bytes.starts_with(kBigEndianMark);
  if (encoding == "utf-16" || (encoding == "auto" && utf16_mark)) return from_utf16(bytes, label);
  const bool utf8_mark = bytes.starts_with(kUtf8Mark);
  if (encoding == "windows-1252" || encoding == "latin-1") {
    if (utf8_mark)
      fail(fmt::format("{}: begins with the mark of UTF-8, not {}; leave --encoding out", label, encoding));
    return from_one_byte_code(bytes, label, encoding == "windows-1252");
  }
  if (utf8_mark) bytes.erase(0, kUtf8Mark.size());
  const size_t end = end_of_utf8(bytes);
  if (end == bytes.size()) return bytes;
  const int64_t line = line_at(bytes, end);
  if (encoding == "utf-8") {
    fail_at_line(label, line,
                 fmt::format("byte 0x{:02x} is no UTF-8; name another encoding with --encoding, as in "
                             "--encoding windows-1252",
                             static_cast<unsigned char>(bytes[end])));
  }
  refuse_control_bytes(bytes, label);
  std::string text = from_one_byte_code(bytes, label, true);
  notes.push_back(
      fmt::format("{}:{}: not UTF-8, so the file was read as windows-1252; --encoding names another encoding",
                  label, line));
  return text;
}

}  // namespace

std::string to_utf8(std::string bytes, const std::string& label, const std::string& encoding,
                    std::vector<std::string>& notes) {
  std::string text = decoded(std::move(bytes), label, encoding, notes);
  refuse_control_bytes(text, label);
  mend_line_ends(text);
  return text;
}

bool is_valid_utf8(std::string_view text) { return end_of_utf8(text) == text.size(); }

std::string with_valid_utf8(std::string_view text) {
  std::string valid;
  while (true) {
    const size_t end = end_of_utf8(text);
    valid += text.substr(0, end);
    if (end == text.size()) return valid;
    valid += "\xEF\xBF\xBD";
    text.remove_prefix(end + 1);
  }
}

}  // namespace qw
