#include "core/excerpt.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace qw {
namespace {

constexpr size_t kLongestName = 50;  // one that in_quotes() has cut is not cut again

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

size_t end_of_cut(std::string_view text, size_t most) {
  size_t end = std::min(text.size(), most);
  while (end > 0 && end < text.size() && continues_character(text[end])) --end;
  return end;
}

std::string without_middle(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  const size_t first = end_of_cut(text, most * 2 / 3);
  size_t last = text.size() - most / 3;
  while (last < text.size() && continues_character(text[last])) ++last;
  return fmt::format("{}... ({} characters) ...{}", text.substr(0, first),
                     with_thousands(static_cast<int64_t>(text.size())), text.substr(last));
}

std::string name_list(const std::vector<std::string>& names, std::string_view separator, size_t most) {
  std::string list;
  for (size_t k = 0; k < std::min(names.size(), most); ++k) {
    const size_t end = end_of_cut(names[k], kLongestName);
    list += fmt::format("{}{}{}", k == 0 ? "" : separator, printable(names[k].substr(0, end)),
                        end < names[k].size() ? "..." : "");
  }
  if (names.size() > most) list += fmt::format("{}and {} more", separator, names.size() - most);
  return list;
}

}  // namespace qw
