// Small damage to files, for tests of what reads them.
#pragma once

#include <cstdlib>
#include <random>
#include <string>

namespace qw::test {

// One change: a bit, a byte, a piece cut out, doubled or replaced by something that readers fear.
inline std::string mutated(std::string text, std::mt19937_64& random) {
  static const char* feared[] = {
      "-1",   "1e999",    "null", "[]",   "{}",        "\"\"", "[[[[[[",    "9223372036854775808",
      "true", "\xff\xfe", ",",    "\n\n", "0.0000001", "nan",  "\"train\"", "2147483648"};
  const auto below = [&](size_t count) { return count == 0 ? 0 : random() % count; };
  const size_t at = below(text.size()), length = below(std::min<size_t>(text.size() - at, 40) + 1);
  switch (random() % 6) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      if (!text.empty()) text[at] = static_cast<char>(random());
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(at, text.substr(at, length));
      break;
    case 4:
      text.replace(at, length, feared[random() % std::size(feared)]);
      break;
    default:
      text.resize(at);
  }
  return text;
}

// How many to try: $QW_MUTATIONS, or what a quick test has time for.
inline int64_t mutations(int64_t usual) {
  const char* asked = std::getenv("QW_MUTATIONS");
  return asked == nullptr ? usual : std::atoll(asked);
}

}  // namespace qw::test
