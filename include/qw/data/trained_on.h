// What a training remembers of its data: enough to predict without its files, to tell what has changed since,
// and to know for ever who trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/schema.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// The data of a training without its features, of which only hashes are kept.
struct TrainedOn {
  DataSchema schema;                   // how the data became numbers
  Graph graph;                         // its edges with weights and costs
  std::vector<std::string> node_ids;   // empty: 0, 1, 2, ...
  Targets targets;                     // the labels as they were
  std::vector<uint64_t> feature_rows;  // a hash of each node's features, whatever the order of the columns
  std::vector<Split> splits;           // one for each run
  std::string split;                   // how they were drawn, as in qw/graph/split_spec.h
  std::string partition = {};          // its id, where the data was trained on part by part

  // The node's id, or its number where the data has no ids.
  std::string node_id(NodeId node) const;
};

// Copies what is kept of a data set; `splits` and `split` as in TrainedOn.
TrainedOn remember(const Dataset& dataset, std::vector<Split> splits, std::string split);

// Where each node of `from` is in `to`, by id; -1: nowhere.
std::vector<NodeId> places(const TrainedOn& from, const Dataset& to);
std::vector<NodeId> places(const Dataset& from, const TrainedOn& to);

// How data differs from what was trained on, in numbers of nodes, edges, labels and rows of features. An edge
// differs when it is new, gone, or has another weight or cost; a label when it is new, gone or another; a row
// of features when a node that is still there has others.
struct DataChanges {
  // How many differ; `features` counts rows.
  int64_t nodes = 0, edges = 0, labels = 0, features = 0;
  bool directions = false;  // edges are directed in one of them only; then they are not compared
  bool reordered = false;   // the same nodes stand in another order

  // Whether nothing differs but, perhaps, the order of the nodes.
  bool none() const { return nodes + edges + labels + features == 0 && !directions; }
  // "34 labels, 2 edges and 1 node".
  std::string text() const;
};
// Labels count only where the data has any.
DataChanges changes_since(const TrainedOn& trained_on, const Dataset& dataset);

// SHA-256 of canonical forms, the same for any order of rows and columns.
struct Fingerprint {
  // 64 hexadecimal digits each.
  std::string graph, features, labels;
  std::vector<std::string> splits;  // one for each run
};
Fingerprint fingerprint(const TrainedOn& trained_on);

}  // namespace qw
