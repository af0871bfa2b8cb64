// A person's own graph: one CSV of edges and, if there is one, a CSV of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/text.h"
#include "data/formats/csv.h"
#include "data/formats/edge_checks.h"
#include "data/formats/edge_csv.h"
#include "data/formats/encoding.h"
#include "data/formats/id_choice.h"
#include "data/formats/node_csv.h"
#include "data/formats/node_join.h"
#include "data/formats/split_column.h"
#include "data/formats/trained_columns.h"
#include "data/readers/csv_parts.h"
#include "data/readers/parts.h"
#include "data/readers/reader.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::string stored_as(const FileSet& files, const std::string& name) {
  return files.has(name) || !files.has(name + ".gz") ? name : name + ".gz";
}

bool recognises(const FileSet& files, const std::string& entry) {
  if (entry.empty()) return files.has(stored_as(files, "edges.csv"));
  std::filesystem::path name = entry;
  if (name.extension() == ".gz") name.replace_extension();
  const std::string ending = name.extension().string();
  static const std::vector<std::string> endings = {".csv",   ".tsv",      ".tab",  ".txt",
                                                   ".edges", ".edgelist", ".ncol", ".el"};
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

void adopt_columns(std::string_view text, const std::string& label,
                   std::initializer_list<std::pair<std::string*, std::string>> fields) {
  CsvScanner scanner(text, label);
  scanner.skip_comments();
  std::vector<std::string_view> names;
  scanner.next(names);
  for (const auto& [field, name] : fields) {
    if (field->empty() && std::find(names.begin(), names.end(), name) != names.end()) *field = name;
  }
}

void require_nodes_for(const LoadOptions& options) {
  if (!options.nodes.empty()) return;
  const auto refuse = [](const char* option, const char* what = "names a column of") {
    fail_usage(fmt::format("{} {} the node table: give that file with --nodes", option, what));
  };
  if (!options.id.empty()) refuse("--id");
  if (!options.target.empty()) refuse("--target");
  if (!options.features.empty()) refuse("--features");
  if (!options.drop.empty()) refuse("--drop");
  if (!options.split_column.empty()) refuse("--split-column");
  if (options.missing != LoadOptions().missing) refuse("--missing", "is for");
  if (options.task != "auto") refuse("--task", "is for");
  if (options.unknown_nodes != "error")
    fail_usage("--unknown-nodes is about nodes that the node table has not: give that file with --nodes");
}

}  // namespace

LoadOptions csv_files(const FileSet& files, const std::string& entry, bool is_folder, LoadOptions options) {
  if (is_folder) {
    options.edges = stored_as(files, "edges.csv");
    const std::string nodes = stored_as(files, "nodes.csv");
    if (options.nodes.empty() && files.has(nodes)) options.nodes = nodes;
  } else if (options.edges.empty()) {
    options.edges = entry;
  }
  if (options.edges == options.nodes) {
    fail_usage(fmt::format(
        "--edges and --nodes are the same file, {}; expected a list of edges and a table of nodes",
        in_quotes(options.edges)));
  }
  require_nodes_for(options);
  return options;
}

void adopt_edge_columns(std::string_view text, const std::string& label, LoadOptions& options) {
  adopt_columns(text, label, {{&options.edge_cost, "cost"}, {&options.edge_weight, "weight"}});
}

void adopt_node_columns(const NodeText& nodes, LoadOptions& options) {
  adopt_columns(nodes.text, nodes.label,
                {{&options.id, "id"}, {&options.target, "label"}, {&options.split_column, "split"}});
}

void read_nodes(NodeText text, LoadOptions options, std::string_view edge_text, EdgeTable& edges,
                Dataset& dataset) {
  const std::string index = name_index_column(text);
  if (options.as_trained) use_trained_columns(text, options, dataset.notes);
  const IdSource source = choose_ids(text, edges, index, options, dataset.notes);
  add_unknown_nodes(text, source, edges, options, dataset.notes);
  MaskSplit masks;
  if (!options.as_trained) masks = choose_split(text, options, dataset.notes);
  NodeTable nodes = read_node_csv(text.text, text.label, options);
  take_masks(std::move(masks), nodes);
  if (source == IdSource::kRowsFromOne) {
    std::vector<std::string> names;
    for (int64_t row = 1; row <= nodes.ids.size(); ++row) names.push_back(std::to_string(row));
    nodes.ids = NodeIds::named(std::move(names), text.label);
  }
  if (header_is_an_edge(edges, nodes.ids)) {
    options.header = "no";
    edges = read_edge_csv(edge_text, edges.layout.label, options);
  }
  join_edges(edges, nodes.ids, source, text.label, options);
  dataset.features = std::move(nodes.features);
  dataset.targets = std::move(nodes.targets);
  dataset.splits = std::move(nodes.splits);
  dataset.columns = std::move(nodes.columns);
  dataset.notes.insert(dataset.notes.end(), nodes.notes.begin(), nodes.notes.end());
  dataset.node_ids = nodes.ids.names();
}

namespace {

void say_negative_weights(EdgeTable& edges) {
  const std::vector<double>& weights = edges.edges.weights;
  const auto negative =
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight < 0.0; });
  std::string note = negative_weights_note(negative, static_cast<int64_t>(weights.size()));
  if (!note.empty()) edges.notes.push_back(std::move(note));
}

Dataset read(const FileSet& files, const std::string& entry, const LoadOptions& given) {
  const bool is_folder = entry.empty() && given.edges.empty();
  LoadOptions options = csv_files(files, entry, is_folder, given);
  Dataset dataset;
  dataset.format = "csv";
  dataset.name = std::filesystem::path(files.label(options.edges)).filename().string();
  const auto text_of = [&](const std::string& name) {
    return to_utf8(files.read_text(name), files.label(name), options.encoding, dataset.notes);
  };
  const std::string label = files.label(options.edges);
  EdgeTable table;
  {
    const std::string text = text_of(options.edges);  // gone before the graph is built: it may be large
    if (is_folder) adopt_edge_columns(text, label, options);
    table = read_edge_csv(text, label, options);
    if (!options.nodes.empty()) {
      NodeText nodes{text_of(options.nodes), files.label(options.nodes)};
      if (is_folder) adopt_node_columns(nodes, options);
      read_nodes(std::move(nodes), options, text, table, dataset);
    } else {
      say_doubtful_header(table);
      dataset.node_ids = std::move(table.names);
    }
  }
  say_negative_weights(table);
  dataset.notes.insert(dataset.notes.end(), table.notes.begin(), table.notes.end());
  dataset.graph = build_graph(std::move(table.edges), options, label, dataset.notes);
  if (dataset.graph.num_edges() == 0) dataset.notes.emplace_back(kNoEdge);
  return dataset;
}

}  // namespace

const Reader kCsvReader = {
    "csv",
    "FILE.csv, .tsv, .tab, .txt, .edges, .edgelist, .ncol or .el of edges, or a folder with "
    "edges.csv and nodes.csv",
    recognises, read};

}  // namespace qw
