#include "qw/data/schema.h"

#include <algorithm>

namespace qw {
namespace {

std::string way_of_ids(const Dataset& dataset) {
  const bool has_table = !dataset.columns.empty();
  const auto is_id = [](const TableColumn& column) { return column.role == "id"; };
  if (std::any_of(dataset.columns.begin(), dataset.columns.end(), is_id)) return "column";
  if (dataset.node_ids.empty()) return has_table ? "rows" : "numbers";
  return has_table ? "rows from 1" : "edges";
}

}  // namespace

DataSchema schema_of(const Dataset& dataset) {
  DataSchema schema;
  schema.format = dataset.format;
  schema.columns = dataset.columns;
  schema.ids = way_of_ids(dataset);
  schema.features = dataset.features.columns;
  schema.feature_names = dataset.features.names;
  schema.made_features = dataset.made_features;
  schema.task = dataset.targets.task;
  schema.width = dataset.targets.width;
  schema.has_classes = schema.task == Task::kClassification || !dataset.targets.classes.empty();
  schema.target_names = dataset.targets.names;
  return schema;
}

}  // namespace qw
