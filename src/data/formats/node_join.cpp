#include "data/formats/node_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

// Where each end of the edges is among the ids; -1: nowhere.
struct Join {
  std::vector<NodeId> node_of;
  std::string float_example;  // an id that matched as a whole number only
  int64_t unknown = 0;
};

Join find_ends(const EdgeTable& edges, const NodeIds& ids, bool exact) {
  Join join;
  join.node_of.resize(edges.edges.num_nodes);
  for (NodeId end = 0; end < edges.edges.num_nodes; ++end) {
    join.node_of[end] = ids.find(edges.name(end)).value_or(-1);
    join.unknown += join.node_of[end] < 0;
  }
  if (join.unknown == 0 || exact || ids.names().empty()) return join;
  std::vector<std::string> whole;
  for (const std::string& name : ids.names()) {
    whole.emplace_back(without_zero_fraction(name));
    if (join.float_example.empty() && whole.back() != name) join.float_example = name;
  }
  if (join.float_example.empty() || !are_distinct(whole)) {
    join.float_example.clear();
    return join;
  }
  const NodeIds whole_ids = NodeIds::named(std::move(whole), "");
  join.unknown = 0;
  for (NodeId end = 0; end < edges.edges.num_nodes; ++end) {
    NodeId& node = join.node_of[end];
    if (node < 0) node = whole_ids.find(without_zero_fraction(edges.name(end))).value_or(-1);
    join.unknown += node < 0;
  }
  return join;
}

// Leaves out the edges whose end is unknown.
void drop_edges(EdgeList& edges, const std::vector<NodeId>& node_of) {
  size_t kept = 0;
  for (size_t e = 0; e < edges.heads.size(); ++e) {
    if (node_of[edges.heads[e]] < 0 || node_of[edges.tails[e]] < 0) continue;
    edges.heads[kept] = edges.heads[e];
    edges.tails[kept] = edges.tails[e];
    if (!edges.costs.empty()) edges.costs[kept] = edges.costs[e];
    if (!edges.weights.empty()) edges.weights[kept] = edges.weights[e];
    ++kept;
  }
  edges.heads.resize(kept);
  edges.tails.resize(kept);
  if (!edges.costs.empty()) edges.costs.resize(kept);
  if (!edges.weights.empty()) edges.weights.resize(kept);
}

// An edge with an unknown end, the first one, and the end.
struct UnknownEnd {
  int64_t edge = 0;
  std::string id;
  int64_t edges = 0;  // how many have one
};

std::string explain_unknown(const std::string& id, const NodeIds& ids, const std::string& nodes_label) {
  const bool rows_are_ids = ids.names().empty();
  if (!rows_are_ids || parse_integer(id)) return ids.explain(id);
  return fmt::format(
      "node id {} is no row of {}, and no column there holds the ids; name the one that does with --id",
      in_quotes(id), nodes_label);
}

UnknownEnd first_unknown(const EdgeTable& table, const std::vector<NodeId>& node_of) {
  UnknownEnd unknown;
  for (size_t e = 0; e < table.edges.heads.size(); ++e) {
    const NodeId tail = table.edges.tails[e], head = table.edges.heads[e];
    if (node_of[tail] >= 0 && node_of[head] >= 0) continue;
    if (unknown.edges++ > 0) continue;
    unknown.edge = static_cast<int64_t>(e);
    unknown.id = table.name(node_of[tail] < 0 ? tail : head);
  }
  return unknown;
}

}  // namespace

void add_unknown_nodes(NodeText& nodes, IdSource source, const EdgeTable& edges, const LoadOptions& options,
                       std::vector<std::string>& notes) {
  if (options.unknown_nodes != "add") return;
  if (source == IdSource::kRowsFromZero || source == IdSource::kRowsFromOne) {
    fail_usage(
        fmt::format("--unknown-nodes add needs a column of node ids in {}: name it with --id", nodes.label));
  }
  const std::vector<std::string> names = header_names(nodes);
  const size_t id = CsvHeader{nodes.label, names}.column(options.id, "--id");
  std::vector<std::string> cells = column_cells(nodes, id);
  if (!are_distinct(cells)) return;  // read_node_csv says which
  const Join join = find_ends(edges, NodeIds::named(std::move(cells), nodes.label), options.exact_ids);
  if (join.unknown == 0) return;
  const char separator = CsvScanner(nodes.text, nodes.label).separator();
  if (!nodes.text.ends_with('\n')) nodes.text += '\n';
  for (NodeId end = 0; end < edges.edges.num_nodes; ++end) {
    if (join.node_of[end] >= 0) continue;
    nodes.text.append(id, separator);
    nodes.text += csv_field(edges.name(end));
    nodes.text.append(names.size() - 1 - id, separator);
    nodes.text += '\n';
  }
  notes.push_back(
      fmt::format("{} nodes that {} has not were added, without features and label; --unknown-nodes "
                  "error or drop does otherwise",
                  join.unknown, nodes.label));
}

void join_edges(EdgeTable& table, const NodeIds& ids, IdSource source, const std::string& nodes_label,
                const LoadOptions& options) {
  const Join join = find_ends(table, ids, options.exact_ids);
  if (!join.float_example.empty()) {
    table.notes.push_back(fmt::format("{}: node ids such as {} match {} in {}; --exact-ids tells them apart",
                                      nodes_label, in_quotes(join.float_example),
                                      in_quotes(without_zero_fraction(join.float_example)),
                                      table.layout.label));
  }
  if (join.unknown > 0) {
    const UnknownEnd unknown = first_unknown(table, join.node_of);
    const int64_t line = line_of_edge(table, unknown.edge);
    if (options.unknown_nodes != "drop") {
      fail_at_line(
          table.layout.label, line,
          fmt::format("{}; {} edges name {} nodes that are not there: --unknown-nodes drop leaves these "
                      "edges out, --unknown-nodes add adds the nodes{}",
                      explain_unknown(unknown.id, ids, nodes_label), unknown.edges, join.unknown,
                      source == IdSource::kColumnBeforeRows
                          ? fmt::format("; column {} was taken for the node id: --id names another, --id {} "
                                        "counts rows instead",
                                        in_quotes(options.id), kRowNumber)
                          : ""));
    }
    drop_edges(table.edges, join.node_of);
    table.notes.push_back(fmt::format(
        "{} edges to {} nodes that {} has not were dropped, the first to {} in {}:{}; "
        "--unknown-nodes error or add does otherwise",
        unknown.edges, join.unknown, nodes_label, in_quotes(unknown.id), table.layout.label, line));
  }
  for (auto* ends : {&table.edges.heads, &table.edges.tails}) {
    for (NodeId& node : *ends) node = join.node_of[node];
  }
  table.edges.num_nodes = ids.size();
  table.names.clear();
}

}  // namespace qw
