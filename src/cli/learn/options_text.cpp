#include "cli/learn/options_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"

namespace qw::cli {

std::string options_text(const nlohmann::ordered_json& options, const std::vector<std::string>& without) {
  std::string text;
  for (const auto& [name, value] : options.items()) {
    if (std::find(without.begin(), without.end(), name) != without.end() || value == false) continue;
    std::string option = name;
    std::replace(option.begin(), option.end(), '_', '-');
    text += (text.empty() ? "--" : " --") + option;
    if (value.is_boolean()) continue;
    text += " " + (value.is_string()         ? value.get<std::string>()
                   : value.is_number_float() ? fmt::format("{}", value.get<double>())
                                             : json_text(value));
  }
  return text;
}

}  // namespace qw::cli
