// Values of nodes as `qw w1` reads them from CSV.
#pragma once

#include <string>
#include <vector>

#include "data/formats/node_ids.h"
#include "qw/data/load.h"

namespace qw::cli {

// A column of node ids, then columns of numbers.
struct ValueTable {
  std::string file;
  bool has_header = false;
  std::vector<std::string> columns;  // "1", "2", ... without a header
  std::vector<NodeId> nodes;         // of the rows
  std::vector<int64_t> lines;        // of the rows, from 1
  std::vector<double> values;        // [rows, columns]
  std::vector<std::string> notes;    // what was guessed
};

// Throws qw::Error with file and line on a node that is unknown or named twice, on a value that is missing or
// no number, and where it cannot be told whether the first line is a header. Encoding, decimal mark and the
// spellings of missing values are those of the options.
ValueTable read_value_table(const std::string& path, const NodeIds& ids, const LoadOptions& options);

// Nodes in a file, one id a line, or written down with commas between them.
std::vector<NodeId> read_labelled(const std::string& what, const NodeIds& ids, const LoadOptions& options);

// For messages.
std::string id_of(const NodeIds& ids, NodeId node);
std::string counted(int64_t count, const char* thing);  // "1 row", "2 rows"

}  // namespace qw::cli
