// A folder with edges.csv and nodes.csv: everything a Dataset holds, readable by people and by the csv
// reader.
#include <fmt/format.h>

#include <cmath>

#include "core/file.h"
#include "core/text.h"
#include "data/writers/writers.h"
#include "qw/core/error.h"

namespace qw {
namespace {

std::string edges_text(const Dataset& dataset) {
  const Graph& graph = dataset.graph;
  std::string text = "source,destination";
  if (!graph.costs().empty()) text += ",cost";
  if (!graph.weights().empty()) text += ",weight";
  text += '\n';
  const auto sources = graph.directed() ? graph.tails() : graph.heads();
  const auto destinations = graph.directed() ? graph.heads() : graph.tails();
  for (int64_t e = 0; e < graph.num_edges(); ++e) {
    text += csv_field(dataset.node_id(sources[e]));
    text += ',';
    text += csv_field(dataset.node_id(destinations[e]));
    if (!graph.costs().empty()) fmt::format_to(std::back_inserter(text), ",{}", graph.costs()[e]);
    if (!graph.weights().empty()) fmt::format_to(std::back_inserter(text), ",{}", graph.weights()[e]);
    text += '\n';
  }
  return text;
}

std::string target_text(const Targets& targets, NodeId node) {
  if (!targets.known(node)) return "";
  if (targets.task != Task::kClassification) return fmt::format("{}", targets.values[node]);
  const int32_t label = targets.classes[node];
  return targets.names.empty() ? std::to_string(label) : csv_field(targets.names[label]);
}

std::vector<const char*> parts_of_nodes(const Dataset& dataset) {
  std::vector<const char*> parts;
  if (dataset.splits.empty()) return parts;
  parts.assign(dataset.graph.num_nodes(), "");
  for (const NodeId node : dataset.splits[0].train) parts[node] = "train";
  for (const NodeId node : dataset.splits[0].val) parts[node] = "val";
  for (const NodeId node : dataset.splits[0].test) parts[node] = "test";
  return parts;
}

void append_features(const Features& features, NodeId node, std::string& text) {
  const auto out = std::back_inserter(text);
  int64_t at = features.sparse ? features.offsets[node] : 0;
  for (int64_t column = 0; column < features.columns; ++column) {
    float value = 0;
    if (!features.sparse) {
      value = features.dense[node * features.columns + column];
    } else if (at < features.offsets[node + 1] && features.indices[at] == column) {
      value = features.values[at++];
    }
    fmt::format_to(out, ",{}", value);
  }
}

// The names id, label and split mean something else in nodes.csv.
std::string column_name(const Features& features, int64_t column) {
  if (features.names.empty()) return fmt::format("f{}", column);
  const std::string& name = features.names[column];
  const bool taken = name == "id" || name == "label" || name == "split";
  return csv_field(taken ? "feature " + name : name);
}

std::string nodes_text(const Dataset& dataset) {
  const bool has_target = dataset.targets.task != Task::kNone;
  const std::vector<const char*> parts = parts_of_nodes(dataset);
  std::string text = "id";
  if (has_target) text += ",label";
  if (!parts.empty()) text += ",split";
  for (int64_t column = 0; column < dataset.features.columns; ++column) {
    text += ',';
    text += column_name(dataset.features, column);
  }
  text += '\n';
  for (NodeId node = 0; node < dataset.graph.num_nodes(); ++node) {
    text += csv_field(dataset.node_id(node));
    if (has_target) text += ',' + target_text(dataset.targets, node);
    if (!parts.empty()) fmt::format_to(std::back_inserter(text), ",{}", parts[node]);
    if (dataset.features.columns > 0) append_features(dataset.features, node, text);
    text += '\n';
  }
  return text;
}

void write(const Dataset& dataset, const std::filesystem::path& path) {
  if (dataset.targets.task == Task::kMultiLabel ||
      (dataset.targets.task == Task::kRegression && dataset.targets.width > 1)) {
    fail(fmt::format("{}: csv holds one target per node, not {}", dataset.name, dataset.targets.width));
  }
  const std::string edges = edges_text(dataset);
  const std::string nodes = nodes_text(dataset);
  write_file_atomically(path / "edges.csv", edges);
  write_file_atomically(path / "nodes.csv", nodes);
}

}  // namespace

const Writer kCsvWriter = {"csv", "a folder with edges.csv and nodes.csv", "", write};

}  // namespace qw
