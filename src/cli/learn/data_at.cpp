#include "cli/learn/data_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/learn/commands.h"
#include "core/text.h"
#include "qw/core/error.h"

namespace qw::cli {
namespace {

std::array<std::string*, 4> files_of(DataArguments& data) {
  return {&data.what, &data.load.edges, &data.load.nodes, &data.load.split_file};
}

}  // namespace

DataAt::DataAt(std::string command, const std::vector<std::string>& pairs) : command_(std::move(command)) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size())
      fail_usage(fmt::format("{}: --data-at wants NAME=PATH, not {}", command_, in_quotes(pair)));
    if (!paths_.try_emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      fail_usage(fmt::format("{}: --data-at has {} twice", command_, in_quotes(pair.substr(0, equals))));
  }
}

void DataAt::check(const std::vector<nlohmann::ordered_json>& data) const {
  for (const auto& [name, path] : paths_) {
    const bool known = std::any_of(data.begin(), data.end(), [&, name = name](const auto& each) {
      DataArguments arguments = data_from_json(each, command_);
      const auto files = files_of(arguments);
      return std::any_of(files.begin(), files.end(), [&](const std::string* file) { return *file == name; });
    });
    if (!known) fail_usage(fmt::format("{}: --data-at {}: no data has this name", command_, in_quotes(name)));
  }
}

Dataset DataAt::load(const nlohmann::ordered_json& data) const {
  return cli::load(here(data_from_json(data, command_)));
}

DataArguments DataAt::here(DataArguments data) const {
  for (std::string* file : files_of(data)) {
    const auto found = paths_.find(*file);
    if (found != paths_.end()) *file = found->second;
  }
  return data;
}

}  // namespace qw::cli
