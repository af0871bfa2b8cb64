#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/text.h"
#include "data/missing_features.h"
#include "qw/core/error.h"
#include "qw/data/schema.h"

namespace qw {
namespace {

std::string class_name(const std::vector<std::string>& names, int64_t c) {
  return names.empty() ? fmt::format("{}", c) : names[c];
}

void make_features(Dataset& dataset, const DataSchema& schema) {
  if (dataset.features.columns > 0 && !dataset.made_features) {
    fail(fmt::format("{} has {} features; the training had none and made its own from the graph",
                     dataset.name, dataset.features.columns));
  }
  const std::vector<std::string>& names = schema.feature_names;
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  StructureOptions options;
  options.most_edges_for_clustering = has("clustering") ? std::numeric_limits<int64_t>::max() : -1;
  dataset.features = {};
  const size_t notes = dataset.notes.size();
  add_missing_features(dataset, has("constant") ? "constant" : "degree", options);
  dataset.notes.resize(notes);  // it is what the training did
}

void check_features(const Dataset& dataset, const DataSchema& schema) {
  const Features& features = dataset.features;
  if (features.columns != schema.features) {
    fail(fmt::format("{} has {} features; the training had {}{}", dataset.name, features.columns,
                     schema.features,
                     features.columns == 0 && !schema.columns.empty()
                         ? ", from a node table: give that of this data with --nodes"
                         : ""));
  }
  if (features.names.empty() || schema.feature_names.empty()) return;
  const auto [here, there] =
      std::mismatch(features.names.begin(), features.names.end(), schema.feature_names.begin());
  if (here == features.names.end()) return;
  fail(fmt::format("{}: feature {} is {}, where the training had {}", dataset.name,
                   here - features.names.begin() + 1, in_quotes(*here), in_quotes(*there)));
}

// Classes by their names. One that is not known becomes no label.
std::vector<int32_t> known_classes(const Targets& given, const DataSchema& schema, Dataset& dataset) {
  std::map<std::string, int32_t> known;
  for (int64_t c = 0; c < schema.width; ++c)
    known.emplace(class_name(schema.target_names, c), static_cast<int32_t>(c));
  std::map<std::string, int64_t> unknown;
  std::vector<int32_t> classes;
  classes.reserve(given.classes.size());
  for (const int32_t label : given.classes) {
    const std::string name = label < 0 ? "" : class_name(given.names, label);
    const auto found = label < 0 ? known.end() : known.find(name);
    if (label >= 0 && found == known.end()) ++unknown[name];
    classes.push_back(found == known.end() ? -1 : found->second);
  }
  for (const auto& [name, nodes] : unknown) {
    dataset.notes.push_back(
        fmt::format("{} node{} of class {}, which the training does not know: left out of what is measured",
                    nodes, nodes == 1 ? " is" : "s are", in_quotes(name)));
  }
  return classes;
}

bool is_of_kind(const Targets& given, const DataSchema& schema) {
  if (schema.has_classes) return !given.classes.empty();
  return given.task == schema.task && given.width == schema.width;
}

Targets conforming_targets(const DataSchema& schema, Dataset& dataset) {
  const Targets& given = dataset.targets;
  const int64_t nodes = dataset.graph.num_nodes();
  const bool usable = is_of_kind(given, schema);
  if (!usable && given.task != Task::kNone) {
    dataset.notes.push_back(
        fmt::format("the labels ({}) are not of the training's kind ({}): they are left out",
                    task_name(given.task), task_name(schema.task)));
  }
  Targets targets{schema.task, schema.width, {}, {}, schema.target_names};
  if (schema.has_classes) {
    targets.classes = usable ? known_classes(given, schema, dataset) : std::vector<int32_t>(nodes, -1);
  } else if (schema.task != Task::kNone) {
    targets.values =
        usable ? given.values
               : std::vector<double>(nodes * schema.width, std::numeric_limits<double>::quiet_NaN());
  }
  if (!schema.has_classes || schema.task == Task::kClassification) return targets;
  targets.task = Task::kClassification;
  return one_hot(targets);
}

}  // namespace

void conform(Dataset& dataset, const DataSchema& schema) {
  if (schema.made_features) make_features(dataset, schema);
  check_features(dataset, schema);
  dataset.targets = conforming_targets(schema, dataset);
}

}  // namespace qw
