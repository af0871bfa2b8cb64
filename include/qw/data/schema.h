// How a data set became numbers, so that other data becomes numbers in the same way: columns by name, their
// categories in order, what missing cells are, the classes. A training keeps it as schema.json.
#pragma once

#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// The form of a data set without its contents.
struct DataSchema {
  std::string format;                // the reader or generator
  std::vector<TableColumn> columns;  // of the node table; empty: there is none
  // How a node is known: "column" (one of the node table), "rows" (their numbers from 0), "rows from 1",
  // "edges" (the names that stand there), "numbers" (of a format without ids).
  std::string ids;

  int64_t features = 0;                    // columns that the network sees
  std::vector<std::string> feature_names;  // empty, or one for each
  bool made_features = false;              // from the graph

  Task task = Task::kNone;                // what is learned
  int64_t width = 0;                      // classes, labels or values per node
  bool has_classes = false;               // one for each node; with a task of values, learned as 0 and 1
  std::vector<std::string> target_names;  // of classes, labels or values; empty: numbers
};

// The schema that makes other data conform to this data set.
DataSchema schema_of(const Dataset& dataset);

// Brings features and targets of a data set into the form of the schema: features are made from the graph
// where those of the training were; classes have the training's numbers, by their names, and a class that it
// did not know counts as no label. Notes say so. Throws qw::Error when the features are others.
void conform(Dataset& dataset, const DataSchema& schema);

}  // namespace qw
