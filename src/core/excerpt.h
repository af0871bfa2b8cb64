// Cuts for error lines: what is quoted from a file or an argument stays short, whatever it holds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qw {

// Where to cut `text` so that at most `most` bytes and whole UTF-8 characters are left.
size_t end_of_cut(std::string_view text, size_t most);

// As it is up to `most` bytes; of more, the beginning, the end and "... (7,000 characters) ..." between them.
std::string without_middle(const std::string& text, size_t most);

// "a, b, c and 297 more": at most `most` names, each at most 50 bytes long.
std::string name_list(const std::vector<std::string>& names, std::string_view separator = ", ",
                      size_t most = 10);

}  // namespace qw
