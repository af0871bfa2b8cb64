#include "data/schema/schema_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "qw/core/error.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr Task kTasks[] = {Task::kNone, Task::kClassification, Task::kMultiLabel, Task::kRegression};

Json column_json(const TableColumn& column) {
  Json json{{"name", column.name}, {"role", column.role}, {"type", column.type}};
  if (!column.values.empty()) json["values"] = column.values;
  json["missing"] = column.missing;
  if (column.fill) json["fill"] = *column.fill;
  return json;
}

TableColumn column_from(const Json& json) {
  TableColumn column;
  json.at("name").get_to(column.name);
  json.at("role").get_to(column.role);
  json.at("type").get_to(column.type);
  if (json.contains("values")) json.at("values").get_to(column.values);
  if (json.contains("missing")) column.missing = json.at("missing").get<int64_t>();
  if (json.contains("fill")) column.fill = json.at("fill").get<double>();
  return column;
}

void check_counts(const DataSchema& schema, const std::string& file) {
  constexpr int64_t kMostClasses = 1'000'000, kMostColumns = 10'000;  // of labels or values for each node
  if (schema.width > (schema.task == Task::kClassification ? kMostClasses : kMostColumns))
    fail(fmt::format("{}: {} targets are too many", file, schema.width));
  const auto fits = [](const std::vector<std::string>& names, int64_t count) {
    return count >= 0 && (names.empty() || static_cast<int64_t>(names.size()) == count);
  };
  if (!fits(schema.feature_names, schema.features) || !fits(schema.target_names, schema.width))
    fail(fmt::format("{}: the numbers of names and of columns differ", file));
}

}  // namespace

nlohmann::ordered_json to_json(const DataSchema& schema) {
  Json columns = Json::array();
  for (const TableColumn& column : schema.columns) columns.push_back(column_json(column));
  return {{"format", schema.format},
          {"ids", schema.ids},
          {"columns", columns},
          {"features",
           {{"count", schema.features}, {"names", schema.feature_names}, {"made", schema.made_features}}},
          {"target",
           {{"task", task_name(schema.task)},
            {"width", schema.width},
            {"classes", schema.has_classes},
            {"names", schema.target_names}}}};
}

DataSchema schema_from_json(const nlohmann::ordered_json& json, const std::string& file) {
  DataSchema schema;
  try {
    json.at("format").get_to(schema.format);
    json.at("ids").get_to(schema.ids);
    for (const Json& column : json.at("columns")) schema.columns.push_back(column_from(column));
    const Json& features = json.at("features");
    features.at("count").get_to(schema.features);
    features.at("names").get_to(schema.feature_names);
    features.at("made").get_to(schema.made_features);
    const Json& target = json.at("target");
    const auto task = target.at("task").get<std::string>();
    const auto* found = std::find_if(std::begin(kTasks), std::end(kTasks),
                                     [&](Task each) { return task_name(each) == task; });
    if (found == std::end(kTasks)) fail(fmt::format("{}: '{}' is no task", file, task));
    schema.task = *found;
    target.at("width").get_to(schema.width);
    target.at("classes").get_to(schema.has_classes);
    target.at("names").get_to(schema.target_names);
  } catch (const nlohmann::json::exception&) {
    fail(fmt::format("{}: does not describe the data of a training", file));
  }
  check_counts(schema, file);
  return schema;
}

}  // namespace qw
