// SHA-256, for checking that a file is the one a dataset card names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qw {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hexadecimal digits

// Of a file's contents, read in pieces. Throws qw::Error, naming the path, when it cannot be read.
std::string sha256_hex_of_file(const std::filesystem::path& path);

}  // namespace qw
