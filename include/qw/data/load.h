// From what a person writes after --data to a Dataset.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/data/schema.h"
#include "qw/graph/dataset.h"

namespace QW_PUBLIC qw {

// How to read. Most matter for a person's own CSV only; `directed`, `self_loops`, `duplicate_edges`,
// `one_hot`, `missing_features` and `split_file` hold for every format. The command line has the same names
// (--edge-cost) and shows the same texts.
struct LoadOptions {
  bool directed = false;                 // keep edges directed, as given, instead of once per pair of nodes
  std::string self_loops = "drop";       // edges from a node to itself: drop, keep or error
  std::string duplicate_edges = "drop";  // edges given more than once: drop, keep or error
  std::string edges;          // a person's own graph: CSV or list of edges, or an adjacency matrix with names
  std::string nodes;          // CSV of nodes; without it they are the ends of the edges
  std::string id;             // column of node ids, or row-number; empty: the column that holds the ends
  std::string target;         // of a CSV: one column, or several with commas between them
  std::string task = "auto";  // what the target is: classification, regression or auto
  bool one_hot = false;       // learn classes as values, 1 for a node's class and 0 for the others
  std::vector<std::string> features;  // only these columns are features; empty: all others
  std::vector<std::string> drop;      // columns to leave out
  // Cells that stand for no value, beside empty ones.
  std::vector<std::string> missing = {"NA",  "N/A",  "n/a",  "#N/A", "<NA>", "NaN",
                                      "nan", "null", "NULL", "None", "?"};
  std::string decimal = "auto";           // the decimal mark: a point, a comma or auto
  std::string missing_features = "auto";  // for data without any: degree, constant, none or auto
  std::string split_column;               // of train, val and test; empty: found, if there is one
  std::string split_file;                 // CSV of node ids and parts, one column for each run, or JSON
  std::string source;                     // column that edges come from; empty: the first that fits
  std::string destination;                // column that edges go to
  std::string edge_cost;                  // column of transport costs, at least 0; empty: all 1
  std::string edge_weight;                // column of adjacency weights; empty: all 1
  std::string header = "auto";            // whether the first line of edges names columns: yes, no or auto
  std::string comments = "skip";          // lines of edges that begin with # or %: skip or keep
  std::string bipartite = "auto";         // the two columns of edges count their nodes apart: yes, no or auto
  std::string unknown_nodes = "error";    // edges to nodes that `nodes` has not: error, drop or add
  bool exact_ids = false;                 // ids match letter by letter only: 1.0 is not 1
  std::string encoding = "auto";          // of the CSV: UTF-8, UTF-16, windows-1252 or auto
  // The data of a training: this is read as that was. Columns are found by their names; those that it did not
  // have are left alone; a category that it did not know is none; missing numbers are what they were there.
  // Then features, drop, task, missing_features, split_column and split_file decide nothing.
  std::shared_ptr<const DataSchema> as_trained;
};

// `what` is a known name ("cora"), a generator spec ("csbm:nodes=3000,..."), a file or a folder; empty when
// options.edges names a CSV. Throws qw::UsageError that says what was tried when it is none of these, and
// qw::Error with file and line (or byte) when its contents are bad.
Dataset load_dataset(const std::string& what, const LoadOptions& options = {});

}  // namespace qw
