// JSON in and out of files, in ways that cannot throw anything but qw::Error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace qw {

// Deeper than any document of ours. What recurses over a document (copies, dump) runs out of stack at some
// ten thousand levels.
inline constexpr int kDeepestJson = 100;

// Where `text` is nested deeper than kDeepestJson, as a byte; npos: nowhere.
size_t too_deep_at(std::string_view text);

// Throws qw::Error "LABEL: is not JSON: ..." with the byte where it ceases to be, also when it is nested too
// deep.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& label);
nlohmann::ordered_json read_json(const std::filesystem::path& path);

// As text that can always be written: bytes that are no UTF-8, as a file name may have them, become U+FFFD
// instead of an exception at the end of a long run. `indent` -1: on one line.
std::string json_text(const nlohmann::ordered_json& document, int indent = -1);
std::string json_text(const nlohmann::json& document, int indent = -1);

// At most 40 bytes of its text, for an error line.
std::string json_excerpt(const nlohmann::ordered_json& value);

}  // namespace qw
