// JSON as text that can always be written: bytes that are no UTF-8, as a file name may have them, become
// U+FFFD instead of an exception at the end of a long run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace qw {

// `indent` -1: on one line.
template <class Json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace qw
