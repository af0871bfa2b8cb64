// The "data" of config.json.
#include <fmt/format.h>

#include <filesystem>

#include "cli/learn/commands.h"
#include "data/load_fields.h"
#include "qw/core/error.h"

namespace qw::cli {

nlohmann::ordered_json data_as_written(const DataArguments& data) {
  LoadOptions load = data.load;
  return {{"what", data.what}, {"load", load_fields(load, "qw").to_json()}};
}

nlohmann::ordered_json data_json(DataArguments data) {
  if (std::filesystem::exists(data.what)) data.what = std::filesystem::absolute(data.what).string();
  for (std::string* file : {&data.load.edges, &data.load.nodes, &data.load.split_file}) {
    if (!file->empty()) *file = std::filesystem::absolute(*file).string();
  }
  return data_as_written(data);
}

DataArguments data_from_json(const nlohmann::ordered_json& json, const std::string& file) {
  DataArguments data;
  if (json.is_null()) {
    fail(fmt::format("{} was trained on data in memory: name the data with --edges and --nodes, or --data",
                     std::filesystem::path(file).parent_path().string()));
  }
  if (json.is_string()) {
    data.what = json.get<std::string>();
    return data;
  }
  try {
    data.what = json.at("what").get<std::string>();
    if (json.contains("load")) load_fields(data.load, "qw").from_json(json.at("load"));
  } catch (const UsageError& error) {
    fail(fmt::format("{}: \"data\" does not say what to load: {}", file, error.what()));
  } catch (const nlohmann::json::exception&) {
    fail(file + ": \"data\" does not say what to load: it has no \"what\"");
  }
  return data;
}

}  // namespace qw::cli
