#include "core/json.h"

#include <fmt/format.h>

#include "core/excerpt.h"
#include "core/file.h"
#include "qw/core/error.h"

namespace qw {

size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return at;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

nlohmann::ordered_json parse_json(std::string_view text, const std::string& label) {
  if (const size_t at = too_deep_at(text); at != std::string_view::npos) {
    fail(fmt::format("{}: is not JSON of ours: nested deeper than {} levels at byte {}", label, kDeepestJson,
                     at));
  }
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    fail(fmt::format("{}: is not JSON: something is wrong at byte {}", label, error.byte));
  } catch (const nlohmann::json::exception&) {  // a number that no double holds
    fail(fmt::format("{}: is not JSON: a number is out of range", label));
  }
}

nlohmann::ordered_json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_text(const nlohmann::json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_excerpt(const nlohmann::ordered_json& value) {
  constexpr size_t kLongest = 40;
  const std::string text = json_text(value);
  const size_t end = end_of_cut(text, kLongest);
  return text.substr(0, end) + (end < text.size() ? "..." : "");
}

}  // namespace qw
