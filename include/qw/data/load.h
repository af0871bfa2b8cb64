// From what a person writes after --data to a Dataset.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// How to read. Most matter for a person's own CSV only; `directed`, `self_loops`, `duplicate_edges`,
// `one_hot`, `missing_features` and `split_file` hold for every format. The command line has the same names
// (--edge-cost) and shows the same texts.
struct LoadOptions {
  bool directed = false;
  std::string self_loops = "drop";
  std::string duplicate_edges = "drop";
  std::string edges;
  std::string nodes;
  std::string id;
  std::string target;  // of a CSV: one column, or several with commas between them
  std::string task = "auto";
  bool one_hot = false;
  std::vector<std::string> features;
  std::vector<std::string> drop;
  std::vector<std::string> missing = {"NA",  "N/A",  "n/a",  "#N/A", "<NA>", "NaN",
                                      "nan", "null", "NULL", "None", "?"};
  std::string decimal = "auto";
  std::string missing_features = "auto";
  std::string split_column;
  std::string split_file;
  std::string source;
  std::string destination;
  std::string edge_cost;
  std::string edge_weight;
  std::string header = "auto";
  std::string comments = "skip";
  std::string bipartite = "auto";
  std::string unknown_nodes = "error";
  bool exact_ids = false;
  std::string encoding = "auto";
};

// `what` is a known name ("cora"), a generator spec ("csbm:nodes=3000,..."), a file or a folder; empty when
// options.edges names a CSV. Throws qw::UsageError that says what was tried when it is none of these, and
// qw::Error with file and line (or byte) when its contents are bad.
Dataset load_dataset(const std::string& what, const LoadOptions& options = {});

}  // namespace qw
