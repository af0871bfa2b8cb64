// Small text helpers shared by readers, option tables and error messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qw {

std::string_view trim(std::string_view text);  // without surrounding blanks, tabs, CR and LF
std::vector<std::string> split(std::string_view text, char separator);  // "a,,b" has three parts; "" has none
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower(std::string_view text);

// The whole of `text` as a number, or nothing: no blanks, no trailing characters. A leading '+' is accepted.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// `text` with control characters as \xNN: one line, whatever it was. printable() also cuts it to 200 bytes.
std::string escaped(std::string_view text);
std::string printable(std::string_view text);

// printable() between single quotes, cut to 40 bytes at a character's end: safe in an error line.
std::string in_quotes(std::string_view text);

// The candidate nearest to `name` by edit distance, when near enough to be what was meant.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

// "'gnc' is unknown; did you mean 'gcn'? known: appnp, gcn"; the second part only when something is near.
std::string unknown_name(std::string_view name, const std::vector<std::string>& candidates);

// A field of a CSV file, quoted if it must be.
std::string csv_field(std::string_view field);

std::string with_thousands(int64_t count);  // 1234567 -> "1,234,567"
std::string human_bytes(double bytes);      // 4826570 -> "4.6 MiB"

}  // namespace qw
