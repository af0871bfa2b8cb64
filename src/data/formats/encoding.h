// The bytes of a person's own text file as UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qw {

// What --encoding may say.
inline const std::vector<std::string> kEncodings = {"auto", "utf-8", "windows-1252", "latin-1", "utf-16"};

// `bytes` as valid UTF-8 without a byte-order mark, with lines that end in LF or CRLF. `encoding` is one of
// kEncodings. "auto" believes a byte-order mark (UTF-8 or UTF-16); without one, text that is not UTF-8 is
// taken for Windows-1252, and a note says so. Throws qw::Error with file and line on bytes that are no text
// in the encoding and on control bytes other than tab, LF and CR: such a file is no text.
std::string to_utf8(std::string bytes, const std::string& label, const std::string& encoding,
                    std::vector<std::string>& notes);

bool is_valid_utf8(std::string_view text);

// `text` with every byte that is no part of valid UTF-8 replaced by U+FFFD: safe in a JSON document.
std::string with_valid_utf8(std::string_view text);

}  // namespace qw
