// Steps of reading a person's own CSV that reading in passes shares.
#pragma once

#include <string>
#include <string_view>

#include "data/file_set.h"
#include "data/formats/edge_csv.h"
#include "data/formats/node_text.h"
#include "qw/data/load.h"
#include "qw/graph/dataset.h"

namespace qw {

// The files of a folder stand in for options that are empty. Throws qw::UsageError on options of a node table
// that is not there.
LoadOptions csv_files(const FileSet& files, const std::string& entry, bool is_folder, LoadOptions options);

// In a folder of edges.csv and nodes.csv, as `qw data convert` writes it, columns called id, label, split,
// cost and weight are what they say.
void adopt_edge_columns(std::string_view text, const std::string& label, LoadOptions& options);
void adopt_node_columns(const NodeText& nodes, LoadOptions& options);

// Reads the node table into `dataset` and makes the ends of `edges`, which were read from `edge_text`, its
// rows.
void read_nodes(NodeText text, LoadOptions options, std::string_view edge_text, EdgeTable& edges,
                Dataset& dataset);

}  // namespace qw
