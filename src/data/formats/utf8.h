// Unicode code points to and from UTF-8, for the text inside numpy arrays and pickles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace qw {

// Appends one code point; false, and nothing appended, for a surrogate or a number past U+10FFFF.
bool append_utf8(std::string& text, uint32_t code_point);

// All code points, or nothing when `text` is not well-formed UTF-8.
std::optional<std::u32string> decode_utf8(std::string_view text);

}  // namespace qw
