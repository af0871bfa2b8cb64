#include "data/formats/utf8.h"

#include <array>

namespace qw {

bool append_utf8(std::string& text, uint32_t code_point) {
  const auto continuation = [&](int shift) {
    text += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | (code_point >> 6));
    continuation(0);
  } else if (code_point < 0x10000) {
    if (code_point >= 0xd800 && code_point < 0xe000) return false;
    text += static_cast<char>(0xe0 | (code_point >> 12));
    continuation(6);
    continuation(0);
  } else if (code_point < 0x110000) {
    text += static_cast<char>(0xf0 | (code_point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  } else {
    return false;
  }
  return true;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  constexpr std::array<uint32_t, 5> kSmallestOfLength = {0, 0, 0x80, 0x800, 0x10000};
  std::u32string code_points;
  code_points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc0 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf8 ? 4
                                        : 0;
    if (length == 0 || length > text.size() - at) return std::nullopt;
    uint32_t code_point = length == 1 ? lead : lead & (0x7f >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[at + k]);
      if ((next & 0xc0) != 0x80) return std::nullopt;
      code_point = code_point << 6 | (next & 0x3f);
    }
    const bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (code_point < kSmallestOfLength[length] || surrogate || code_point > 0x10ffff) return std::nullopt;
    code_points += static_cast<char32_t>(code_point);
    at += length;
  }
  return code_points;
}

}  // namespace qw
