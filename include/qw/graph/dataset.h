// A graph with everything known about its nodes. Readers and generators make it; training takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/features.h"
#include "qw/graph/graph.h"
#include "qw/graph/split.h"
#include "qw/graph/targets.h"

namespace QW_PUBLIC qw {

// What a column of a node table was taken for.
struct TableColumn {
  std::string name;  // as in the header of the table
  std::string role;  // "id", "feature", "target", "split", "dropped", or "ignored" (not among --features)
  // "number", "0/1", "categories" (of a feature), "classes" (of a target), "text", "empty", or "" where it
  // was not looked at
  std::string type;
  std::vector<std::string> values{};  // the different ones, of categories and classes, in order
  int64_t missing = 0;                // cells without a value
  std::optional<double> fill{};       // what missing numbers are, of a feature
};

// One graph, the features and targets of its nodes, and where they came from.
struct Dataset {
  std::string name;                   // of a known data set or generator, else of the file or folder
  std::string format;                 // the reader or generator it came from
  Graph graph;                        // nodes and edges
  Features features;                  // one row per node
  Targets targets;                    // what is to be learned; Task::kNone where nothing is
  std::vector<Split> splits;          // those stored with the data
  std::vector<std::string> node_ids;  // the user's own ids; empty: 0, 1, 2, ...
  std::vector<std::string> notes;     // what the reader did that a person should know, one sentence each
  std::vector<TableColumn> columns;   // of the node table, when there is one
  bool made_features = false;         // from the graph, since the data has none
  bool of_paper = false;              // one of the paper's ten graphs, loaded under its name
  std::string default_split;          // what the split "auto" stands for; empty: automatic_split() decides

  // The user's id of a node, or its number where there are no ids.
  std::string node_id(NodeId node) const;
};

// Throws qw::Error, naming the data set, when the parts disagree about the number of nodes.
void check_consistent(const Dataset& dataset);

}  // namespace qw
