// A person's own graph: one CSV of edges and, if there is one, a CSV of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/formats/csv.h"
#include "data/formats/edge_csv.h"
#include "data/formats/node_csv.h"
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
  for (const char* ending : {".csv", ".csv.gz", ".tsv", ".tsv.gz"}) {
    if (entry.ends_with(ending)) return true;
  }
  return false;
}

// In a folder of edges.csv and nodes.csv, as `qw data convert` writes it, columns called id, label, split,
// cost and weight are what they say.
void adopt_columns(std::string_view text, const std::string& label,
                   std::initializer_list<std::pair<std::string*, std::string>> fields) {
  CsvScanner scanner(text, label);
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
}

Dataset read(const FileSet& files, const std::string& entry, const LoadOptions& given) {
  LoadOptions options = given;
  const bool is_folder = entry.empty() && options.edges.empty();
  if (is_folder) {
    options.edges = stored_as(files, "edges.csv");
    const std::string nodes = stored_as(files, "nodes.csv");
    if (options.nodes.empty() && files.has(nodes)) options.nodes = nodes;
  } else if (options.edges.empty()) {
    options.edges = entry;
  }
  require_nodes_for(options);

  Dataset dataset;
  dataset.format = "csv";
  dataset.name = std::filesystem::path(files.label(options.edges)).filename().string();
  std::optional<NodeTable> nodes;
  if (!options.nodes.empty()) {
    const std::string text = files.read_text(options.nodes);
    const std::string label = files.label(options.nodes);
    if (is_folder) {
      adopt_columns(text, label,
                    {{&options.id, "id"}, {&options.target, "label"}, {&options.split_column, "split"}});
    }
    nodes = read_node_csv(text, label, options);
    dataset.features = std::move(nodes->features);
    dataset.targets = std::move(nodes->targets);
    dataset.splits = std::move(nodes->splits);
    dataset.notes = std::move(nodes->notes);
    dataset.columns = std::move(nodes->columns);
  }
  const std::string label = files.label(options.edges);
  EdgeTable table;
  {
    const std::string text =
        files.read_text(options.edges);  // gone before the graph is built: it may be large
    if (is_folder)
      adopt_columns(text, label, {{&options.edge_cost, "cost"}, {&options.edge_weight, "weight"}});
    table = read_edge_csv(text, label, options, nodes ? &nodes->ids : nullptr);
  }
  dataset.node_ids = std::move(table.discovered);
  if (nodes) dataset.node_ids = nodes->ids.names();
  dataset.notes.insert(dataset.notes.end(), table.notes.begin(), table.notes.end());
  dataset.graph = build_graph(std::move(table.edges), options.directed, label, dataset.notes);
  if (dataset.graph.num_edges() == 0) dataset.notes.emplace_back("there is no edge");
  return dataset;
}

}  // namespace

const Reader kCsvReader = {"csv", "FILE.csv of edges, or a folder with edges.csv and nodes.csv", recognises,
                           read};

}  // namespace qw
