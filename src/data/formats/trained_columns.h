// A node table read as that of a training was.
#pragma once

#include <string>
#include <vector>

#include "data/formats/column_summary.h"
#include "data/formats/node_text.h"
#include "qw/data/load.h"

namespace qw {

struct NodeTable;

// Makes the options name the columns of options.as_trained: the id, the features, the target where it is
// there; what options.id and options.target say already stays. Notes name columns that the training did not
// have. Throws qw::Error when a feature is missing.
void use_trained_columns(const NodeText& nodes, LoadOptions& options, std::vector<std::string>& notes);

// Fills table.features as the training's columns say. Notes tell of missing cells and of texts that are none
// of the training's categories.
void read_trained_features(const NodeTableText& text, const TableSummary& summary, const DataSchema& schema,
                           NodeTable& table);

}  // namespace qw
