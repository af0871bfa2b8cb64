#include "data/formats/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace qw {
namespace {

// UTF-8 of the blanks, apostrophes and signs that stand in or around numbers.
constexpr std::string_view kSeparators[] = {",", ".", " ", "'", "\u00A0", "\u202F", "\u2009", "\u2019"};
constexpr std::string_view kCurrencies[] = {"$", "\u20AC", "\u00A3", "\u00A5"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t count_digits(std::string_view text) {
  return std::find_if_not(text.begin(), text.end(), is_digit) - text.begin();
}

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

// "1,234,567.5" as "1234567.5", for groups of three digits (two are usual in India, but for the last);
// nothing when `separator` does not group the digits.
std::optional<std::string> ungrouped(std::string_view text, std::string_view separator) {
  std::string digits;
  if (text.starts_with('-')) digits = "-";
  text = without_sign(text);
  size_t length = count_digits(text);
  if (length < 1 || length > 3 || text.front() == '0') return std::nullopt;
  digits += text.substr(0, length);
  text.remove_prefix(length);
  size_t groups = 0;
  for (; text.starts_with(separator); ++groups) {
    text.remove_prefix(separator.size());
    length = count_digits(text);
    if (length != 3 && length != 2) return std::nullopt;
    digits += text.substr(0, length);
    text.remove_prefix(length);
  }
  if (groups == 0 || length != 3) return std::nullopt;
  if (text.empty()) return digits;
  const bool has_fraction = (text.front() == '.' || text.front() == ',') && !text.starts_with(separator) &&
                            text.size() > 1 && count_digits(text.substr(1)) == text.size() - 1;
  if (!has_fraction) return std::nullopt;
  return digits + "." + std::string(text.substr(1));
}

bool is_plain(std::string_view text) {
  return parse_finite(text, {'.'}).has_value() || parse_finite(text, {','}).has_value();
}

// Whether a person reads `text` as a number, with or without separators.
bool is_number_to_people(std::string_view text) {
  return is_plain(text) ||
         std::any_of(std::begin(kSeparators), std::end(kSeparators),
                     [&](std::string_view separator) { return ungrouped(text, separator); });
}

// Takes away one of `signs` at either end, with the blanks beside it.
template <size_t Count>
bool strip(std::string_view& text, const std::string_view (&signs)[Count]) {
  for (const std::string_view sign : signs) {
    if (text.starts_with(sign)) return text = trim(text.substr(sign.size())), true;
    if (text.ends_with(sign)) return text = trim(text.substr(0, text.size() - sign.size())), true;
  }
  return false;
}

std::optional<std::string> separator_hint(std::string_view text, NumberFormat format) {
  const char other = format.decimal == '.' ? ',' : '.';
  if (is_ambiguous(text, other)) {
    return fmt::format("has a decimal mark or a thousands separator: say --decimal {}, or write it without",
                       other);
  }
  for (const std::string_view separator : kSeparators) {
    if (auto digits = ungrouped(text, separator)) {
      if (format.decimal == ',') std::replace(digits->begin(), digits->end(), '.', ',');
      return fmt::format("has thousands separators; write {}", *digits);
    }
  }
  if (!parse_finite(text, {other})) return std::nullopt;
  return other == ',' ? "has a decimal comma; say --decimal ,"
                      : "has a decimal point, but the decimal mark is a comma; say --decimal .";
}

}  // namespace

NumberFormat number_format(std::string_view decimal_option) { return {decimal_option == "," ? ',' : '.'}; }

std::optional<double> parse_finite(std::string_view text, NumberFormat format) {
  std::optional<double> number;
  if (format.decimal == '.') {
    number = parse_number(text);
  } else if (text.find('.') == std::string_view::npos) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
      number = parse_number(text);
    } else {
      std::string pointed(text);
      pointed[comma] = '.';
      number = parse_number(pointed);
    }
  }
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::string> number_hint(std::string_view text, NumberFormat format) {
  const bool may_be_number =
      !text.empty() && text.size() <= 64 &&
      (std::any_of(text.begin(), text.end(), is_digit) || lower(without_sign(text)).starts_with("inf"));
  if (!may_be_number || parse_finite(text, format)) return std::nullopt;
  if (const auto number = parse_number(text); number && std::isinf(*number))
    return "is infinite; expected a finite number";
  constexpr std::string_view kPercent[] = {"%"};
  std::string_view core = text;
  if (strip(core, kPercent) && is_number_to_people(core)) return "has a percent sign; write the number alone";
  core = text;
  const bool negative = core.starts_with('-');
  if (negative) core.remove_prefix(1);
  if (strip(core, kCurrencies) && is_number_to_people(core))
    return "has a currency sign; write the number alone";
  return separator_hint(text, format);
}

bool is_ambiguous(std::string_view text, char mark) {
  text = without_sign(text);
  const size_t whole = count_digits(text);
  return whole >= 1 && whole <= 3 && text.front() != '0' && text.size() == whole + 4 && text[whole] == mark &&
         count_digits(text.substr(whole + 1)) == 3;
}

std::optional<bool> parse_truth(std::string_view text) {
  if (text.size() < 2 || text.size() > 5) return std::nullopt;
  const std::string word = lower(text);
  if (word == "true" || word == "yes") return true;
  if (word == "false" || word == "no") return false;
  return std::nullopt;
}

MissingSpellings::MissingSpellings(std::vector<std::string> spellings) : spellings_(std::move(spellings)) {
  for (const std::string& spelling : spellings_) {
    if (!spelling.empty()) starts_[static_cast<unsigned char>(spelling.front())] = true;
  }
}

bool MissingSpellings::contains(std::string_view cell) const {
  if (cell.empty()) return true;
  if (!starts_[static_cast<unsigned char>(cell.front())]) return false;
  return std::find(spellings_.begin(), spellings_.end(), cell) != spellings_.end();
}

}  // namespace qw
