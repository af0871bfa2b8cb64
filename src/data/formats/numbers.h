// Numbers as people write them in tables, and the cells that stand for no value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qw {

struct NumberFormat {
  char decimal = '.';  // or ','
};

// What --decimal says; "auto" is a point.
NumberFormat number_format(std::string_view decimal_option);

// The whole of `text` as a finite number, or nothing: "12,5" where the decimal mark is a comma.
std::optional<double> parse_finite(std::string_view text, NumberFormat format);

// Why `text`, a number to people, is none in this format, and what to do: "has thousands separators; write
// 1234.5". Nothing when it is a number, or no number to anybody. Infinity is a number to people.
std::optional<std::string> number_hint(std::string_view text, NumberFormat format);

// "1,234", or "1.234" for the mark '.': a decimal mark to one reader and a thousands separator to another.
bool is_ambiguous(std::string_view text, char mark);

// true, false, yes and no in any case.
std::optional<bool> parse_truth(std::string_view text);

// The spellings that stand for no value; the empty cell always does.
class MissingSpellings {
 public:
  explicit MissingSpellings(std::vector<std::string> spellings);
  bool contains(std::string_view cell) const;

 private:
  std::vector<std::string> spellings_;
  std::array<bool, 256> starts_{};  // bytes with which a spelling begins
};

}  // namespace qw
