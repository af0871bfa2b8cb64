#include "data/formats/node_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

NodeIds ids_of_ends(const EdgeTable& edges) {
  return edges.names.empty() ? NodeIds::row_numbers(edges.edges.num_nodes, edges.layout.label)
                             : NodeIds::named(edges.names, edges.layout.label);
}

std::optional<NodeId> find_end(const NodeIds& ends, std::string_view cell, bool exact) {
  if (const auto found = ends.find(cell)) return found;
  const std::string_view whole = exact ? cell : without_zero_fraction(cell);
  return whole.size() < cell.size() ? ends.find(whole) : std::nullopt;
}

// Calls visit(cells) for every row below the header; stops at a row that read_node_csv will refuse.
template <class Visit>
void for_node_rows(const NodeText& nodes, const Visit& visit) {
  CsvScanner scanner(nodes.text, nodes.label);
  std::vector<std::string_view> cells;
  if (!scanner.next(cells)) return;
  const size_t width = cells.size();
  if (width == 1) scanner.keep_blank_rows();
  while (scanner.next(cells) && cells.size() == width) {
    for (std::string_view& cell : cells) cell = trim(cell);
    visit(cells);
  }
}

std::vector<std::string> header_names(const NodeText& nodes) {
  CsvScanner scanner(nodes.text, nodes.label);
  return read_header(scanner).names;
}

std::vector<std::string> column_cells(const NodeText& nodes, size_t column) {
  std::vector<std::string> cells;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& row) { cells.emplace_back(row[column]); });
  return cells;
}

bool are_distinct(const std::vector<std::string>& cells) {
  NameTable seen;
  for (const std::string& cell : cells) {
    if (cell.empty()) return false;
    seen.find_or_add(cell);
  }
  return seen.size() == cells.size();
}

// Whether the cells are first, first + 1, ...
bool count_from(const std::vector<std::string>& cells, int64_t first) {
  for (size_t row = 0; row < cells.size(); ++row) {
    if (parse_integer(without_zero_fraction(cells[row])) != first + static_cast<int64_t>(row)) return false;
  }
  return true;
}

bool counts_rows(const std::vector<std::string>& cells) {
  return count_from(cells, 0) || count_from(cells, 1);
}

// Whether distinct cells are first, first + 1, ... in any order.
bool is_permutation_from(const std::vector<std::string>& cells, int64_t first) {
  return std::all_of(cells.begin(), cells.end(), [&](const std::string& cell) {
    const auto number = parse_integer(without_zero_fraction(cell));
    return number && *number >= first && *number < first + static_cast<int64_t>(cells.size());
  });
}

// --target may name several columns.
bool is_target(const std::string& column, const LoadOptions& options) {
  const std::vector<std::string> targets = split(options.target, ',');
  return column == options.target ||
         std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return trim(target) == column; });
}

struct Candidate {
  size_t column = 0;
  std::string name;
  bool named_as_id = false;
  int64_t hits = 0;          // ends of edges that stand in it
  bool distinct = false;     // every row has a value of its own
  bool permutation = false;  // of the row numbers, from 0 or from 1
};

// How many ends stand in each column; -1 where a column cannot be the id because an end stands there twice.
std::vector<int64_t> count_hits(const NodeText& nodes, const NodeIds& ends, const std::vector<bool>& excluded,
                                bool exact) {
  constexpr int64_t kRowsWithoutHit = 1000;  // a column of ids has one before
  std::vector<int64_t> hits(excluded.size(), 0);
  std::vector<std::vector<bool>> seen(excluded.size());
  for (size_t column = 0; column < excluded.size(); ++column) hits[column] = excluded[column] ? -1 : 0;
  int64_t row = 0;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& cells) {
    ++row;
    for (size_t column = 0; column < cells.size(); ++column) {
      if (hits[column] < 0) continue;
      if (hits[column] == 0 && row > kRowsWithoutHit) hits[column] = -1;
      const auto end = find_end(ends, cells[column], exact);
      if (!end) continue;
      if (seen[column].empty()) seen[column].resize(ends.size(), false);
      hits[column] = seen[column][*end] ? -1 : hits[column] + 1;
      seen[column][*end] = true;
    }
  });
  return hits;
}

// Columns that hold at least half of the ends, the best first: those that hold all, those named like ids, the
// others from left to right.
std::vector<Candidate> find_candidates(const NodeText& nodes, const NodeIds& ends,
                                       const LoadOptions& options) {
  const std::vector<std::string> names = header_names(nodes);
  std::vector<bool> excluded(names.size(), false);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    excluded[column] =
        is_target(name, options) || name == options.split_column || name.empty() ||
        std::find(options.features.begin(), options.features.end(), name) != options.features.end();
  }
  const std::vector<int64_t> hits = count_hits(nodes, ends, excluded, options.exact_ids);
  std::vector<Candidate> candidates;
  for (size_t column = 0; column < names.size(); ++column) {
    if (hits[column] <= 0 || 2 * hits[column] < ends.size()) continue;
    Candidate candidate{column, names[column], is_id_name(names[column]), hits[column], false, false};
    const std::vector<std::string> cells = column_cells(nodes, column);
    candidate.distinct = are_distinct(cells);
    candidate.permutation = is_permutation_from(cells, 0) || is_permutation_from(cells, 1);
    if (candidate.distinct) candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return std::pair(a.hits, a.named_as_id) > std::pair(b.hits, b.named_as_id);
  });
  return candidates;
}

// What the ends would be as row numbers.
struct EndNumbers {
  bool all_numbers = true;
  int64_t smallest = 0;
  int64_t largest = -1;
};

EndNumbers numbers_of_ends(const EdgeTable& edges) {
  EndNumbers numbers;
  if (edges.names.empty()) {
    numbers.largest = edges.edges.num_nodes - 1;
    return numbers;
  }
  numbers.smallest = kMaxNodes;
  for (const std::string& name : edges.names) {
    const auto number = plain_number(name);
    numbers.all_numbers = numbers.all_numbers && number.has_value();
    if (!number) break;
    numbers.smallest = std::min<int64_t>(numbers.smallest, *number);
    numbers.largest = std::max<int64_t>(numbers.largest, *number);
  }
  return numbers;
}

int64_t count_rows(const NodeText& nodes) {
  int64_t rows = 0;
  for_node_rows(nodes, [&](const std::vector<std::string_view>&) { ++rows; });
  return rows;
}

std::string describe_choice(const NodeText& nodes, const std::vector<Candidate>& fitting, int64_t ends) {
  const Candidate& best = fitting[0];
  const std::string holds = best.hits == ends ? "the ends of all edges"
                                              : fmt::format("{} of the {} ends of edges", best.hits, ends);
  std::vector<std::string> others;
  for (size_t k = 1; k < fitting.size() && fitting[k].hits == best.hits; ++k)
    others.push_back(in_quotes(fitting[k].name));
  return fmt::format("{}: column {} is the node id, since it holds {}; --id names another, or {}{}",
                     nodes.label, in_quotes(best.name), holds, kRowNumber,
                     others.empty() ? "" : fmt::format(" ({} would fit too)", join(others, ", ")));
}

IdSource choose_rows(const NodeText& nodes, const EndNumbers& ends, int64_t rows,
                     std::vector<std::string>& notes) {
  if (ends.all_numbers && ends.smallest >= 1 && ends.largest == rows) {
    notes.push_back(
        fmt::format("{}: row i, counted from 1, is node i, since the edges name nodes up to {} and there "
                    "are {} rows; --id names a column of ids",
                    nodes.label, rows, rows));
    return IdSource::kRowsFromOne;
  }
  const bool doubtful = ends.all_numbers && ends.smallest == 1;
  notes.push_back(
      fmt::format("{}: row i, counted from 0, is node i{}; --id names a column of ids", nodes.label,
                  doubtful ? ", and node 0 has no edge: if your nodes count from 1, give them ids" : ""));
  return IdSource::kRowsFromZero;
}

bool is_free(const std::string& column, const LoadOptions& options) {
  const auto lists = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), column) != names.end();
  };
  return column != options.id && !is_target(column, options) && column != options.split_column &&
         !lists(options.features) && !lists(options.drop);
}

// Names that mean ids and nothing else.
bool is_plainly_id(const std::string& column) {
  const std::string name = lower(column);
  return name == "id" || name == "node_id" || name == "nodeid" || name == "node" || name == "index";
}

// A column called id that holds most ends, but some in several rows: reading it as the id says which.
std::string repeated_id_column(const NodeText& nodes, const NodeIds& ends, const LoadOptions& options) {
  const std::vector<std::string> names = header_names(nodes);
  for (size_t column = 0; column < names.size(); ++column) {
    if (!is_plainly_id(names[column]) || !is_free(names[column], options)) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    NameTable found;
    for (const std::string& cell : cells) {
      if (find_end(ends, cell, options.exact_ids)) found.find_or_add(cell);
    }
    const bool holds_most = 2 * static_cast<int64_t>(found.size()) >= ends.size();
    if (holds_most && !are_distinct(cells)) return names[column];
  }
  return "";
}

// A column of ids or row numbers that is not the id is no feature either.
void drop_unused_ids(const NodeText& nodes, const std::string& index, LoadOptions& options,
                     std::vector<std::string>& notes) {
  if (!options.features.empty()) return;
  const std::vector<std::string> names = header_names(nodes);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    if (!(is_plainly_id(name) || name == index) || !is_free(name, options)) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    if (name == index ? !counts_rows(cells) : !are_distinct(cells)) continue;
    options.drop.push_back(name);
    notes.push_back(fmt::format("{}: column {} looks like ids and is no feature; --features can name it",
                                nodes.label, in_quotes(name)));
  }
}

// The column that holds the ends, which becomes options.id, or rows.
IdSource guess_ids(const NodeText& nodes, const EdgeTable& edges, LoadOptions& options,
                   std::vector<std::string>& notes) {
  const int64_t ends = edges.edges.num_nodes;
  std::vector<Candidate> fitting = find_candidates(nodes, ids_of_ends(edges), options);
  const EndNumbers numbers = numbers_of_ends(edges);
  const int64_t rows = count_rows(nodes);
  const bool rows_from_one = numbers.all_numbers && numbers.smallest >= 1 && numbers.largest == rows;
  const bool rows_fit = rows_from_one || (numbers.all_numbers && numbers.largest < rows);
  // Where row numbers do as well, a column must look like ids; where it lacks some ends, it must be no column
  // of other numbers.
  std::erase_if(fitting, [&](const Candidate& candidate) {
    const bool lacks_ends = candidate.hits < ends;
    if (rows_fit) return lacks_ends || !(candidate.named_as_id || candidate.permutation);
    return lacks_ends && numbers.all_numbers && !candidate.named_as_id;
  });
  if (fitting.empty()) {
    options.id = repeated_id_column(nodes, ids_of_ends(edges), options);
    return options.id.empty() ? choose_rows(nodes, numbers, rows, notes) : IdSource::kColumn;
  }
  options.id = fitting[0].name;
  notes.push_back(describe_choice(nodes, fitting, ends));
  return IdSource::kColumn;
}

bool asks_for_row_numbers(const NodeText& nodes, const LoadOptions& options) {
  if (options.id != kRowNumber) return false;
  const std::vector<std::string> names = header_names(nodes);
  return std::find(names.begin(), names.end(), kRowNumber) == names.end();
}

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

std::string name_index_column(NodeText& nodes) {
  CsvScanner scanner(nodes.text, nodes.label);
  std::vector<std::string_view> fields;
  if (!scanner.next(fields) || fields.size() < 2 || !trim(fields[0]).empty()) return "";
  std::string name = "index";
  while (std::find(fields.begin(), fields.end(), name) != fields.end()) name += '_';
  const size_t start = nodes.text.find_first_not_of("\r\n");
  const bool is_quoted = nodes.text.compare(start, 2, "\"\"") == 0;
  nodes.text.replace(start, is_quoted ? 2 : 0, name);
  return name;
}

IdSource choose_ids(const NodeText& nodes, const EdgeTable& edges, const std::string& index,
                    LoadOptions& options, std::vector<std::string>& notes) {
  IdSource source = options.id.empty() ? IdSource::kRowsFromZero : IdSource::kColumn;
  if (asks_for_row_numbers(nodes, options)) {
    options.id.clear();
    source = IdSource::kRowsFromZero;
  } else if (options.id.empty() && edges.edges.num_nodes > 0) {
    source = guess_ids(nodes, edges, options, notes);
  }
  drop_unused_ids(nodes, index, options, notes);
  return source;
}

void add_unknown_nodes(NodeText& nodes, IdSource source, const EdgeTable& edges, const LoadOptions& options,
                       std::vector<std::string>& notes) {
  if (options.unknown_nodes != "add") return;
  if (source != IdSource::kColumn) {
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

void join_edges(EdgeTable& table, const NodeIds& ids, const std::string& nodes_label,
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
                      "edges out, --unknown-nodes add adds the nodes",
                      explain_unknown(unknown.id, ids, nodes_label), unknown.edges, join.unknown));
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
