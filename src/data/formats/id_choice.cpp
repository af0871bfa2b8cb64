#include "data/formats/id_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/excerpt.h"
#include "core/text.h"
#include "data/formats/node_ids.h"
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

// Whether distinct cells are first, first + 1, ... in any order.
bool is_permutation_from(const std::vector<std::string>& cells, int64_t first) {
  return std::all_of(cells.begin(), cells.end(), [&](const std::string& cell) {
    const auto number = parse_integer(without_zero_fraction(cell));
    return number && *number >= first && *number < first + static_cast<int64_t>(cells.size());
  });
}

struct Candidate {
  size_t column = 0;
  std::string name;
  bool named_as_id = false;
  bool reserved = false;     // an option gives it another purpose
  bool is_index = false;     // of pandas or R
  bool counts = false;       // from row to row, from 0 or from 1
  int64_t hits = 0;          // ends of edges that stand in it
  bool permutation = false;  // of the row numbers, from 0 or from 1

  bool is_last_choice() const { return is_index || (counts && !named_as_id); }
};

bool is_index_name(const std::string& column, const std::string& index) {
  return (!index.empty() && column == index) || is_unnamed(column);
}

// How many ends stand in each column; -1 where a column cannot be the id because an end stands there twice.
std::vector<int64_t> count_hits(const NodeText& nodes, const NodeIds& ends,
                                const std::vector<std::string>& names, bool exact) {
  constexpr int64_t kRowsWithoutHit = 1000;  // a column of ids that is not called so has one before
  std::vector<int64_t> hits(names.size(), 0);
  std::vector<std::vector<bool>> seen(names.size());
  int64_t row = 0;
  for_node_rows(nodes, [&](const std::vector<std::string_view>& cells) {
    ++row;
    for (size_t column = 0; column < cells.size(); ++column) {
      if (hits[column] < 0) continue;
      if (hits[column] == 0 && row > kRowsWithoutHit && !is_id_name(names[column])) hits[column] = -1;
      const auto end = find_end(ends, cells[column], exact);
      if (!end) continue;
      if (seen[column].empty()) seen[column].resize(ends.size(), false);
      hits[column] = seen[column][*end] ? -1 : hits[column] + 1;
      seen[column][*end] = true;
    }
  });
  return hits;
}

bool is_reserved(const std::string& column, const LoadOptions& options) {
  return is_target(column, options) || column == options.split_column ||
         std::find(options.features.begin(), options.features.end(), column) != options.features.end();
}

// Names that mean ids and nothing else.
bool is_plainly_id(const std::string& column) {
  const std::string name = lower(column);
  return name == "id" || name == "node_id" || name == "nodeid" || name == "node" || name == "index";
}

// Columns of different cells that hold at least half of the ends, from left to right. A column that is called
// id may hold fewer where row numbers do not fit: a table may have some of the nodes only.
std::vector<Candidate> find_candidates(const NodeText& nodes, const NodeIds& ends, const std::string& index,
                                       bool rows_fit, const LoadOptions& options) {
  const std::vector<std::string> names = header_names(nodes);
  const std::vector<int64_t> hits = count_hits(nodes, ends, names, options.exact_ids);
  std::vector<Candidate> candidates;
  for (size_t column = 0; column < names.size(); ++column) {
    const bool holds_enough = 2 * hits[column] >= ends.size() || (!rows_fit && is_plainly_id(names[column]));
    if (hits[column] <= 0 || !holds_enough || names[column].empty()) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    if (!are_distinct(cells)) continue;
    Candidate candidate;
    candidate.column = column;
    candidate.name = names[column];
    candidate.is_index = is_index_name(names[column], index);
    candidate.named_as_id = candidate.is_index || is_id_name(names[column]);
    candidate.reserved = is_reserved(names[column], options);
    candidate.counts = counts_rows(cells);
    candidate.hits = hits[column];
    candidate.permutation = is_permutation_from(cells, 0) || is_permutation_from(cells, 1);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// The best first: those that hold all ends, those named like ids, the others, and last those that only count
// the rows. Where row numbers fit, any column of small numbers may hold all ends, and the name tells more.
void sort_candidates(std::vector<Candidate>& candidates, bool rows_fit) {
  const auto rank = [&](const Candidate& each) {
    return std::tuple(!each.is_last_choice(), rows_fit && each.named_as_id, each.hits, each.named_as_id);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return rank(a) > rank(b); });
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
  for (size_t k = 1; k < fitting.size(); ++k) {
    if (fitting[k].hits >= best.hits) others.push_back(in_quotes(fitting[k].name));
  }
  return fmt::format("{}: column {} is the node id, since it holds {}; --id names another, or {}{}",
                     nodes.label, in_quotes(best.name), holds, kRowNumber,
                     others.empty() ? "" : fmt::format(" ({} would fit too)", name_list(others)));
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

// A column called like an id that holds most ends, but some in several rows: reading it as the id says which.
// One that could be a category, such as group_id, must tell most rows apart.
std::string repeated_id_column(const NodeText& nodes, const NodeIds& ends, const std::string& index,
                               const LoadOptions& options) {
  const std::vector<std::string> names = header_names(nodes);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    if (!is_id_name(name) || is_index_name(name, index) || !is_free(name, options)) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    NameTable found, different;
    for (const std::string& cell : cells) {
      different.find_or_add(cell);
      if (find_end(ends, cell, options.exact_ids)) found.find_or_add(cell);
    }
    const bool holds_most = 2 * static_cast<int64_t>(found.size()) >= ends.size();
    const bool tells_apart = is_plainly_id(name) || 2 * different.size() > cells.size();
    if (holds_most && tells_apart && !are_distinct(cells)) return name;
  }
  return "";
}

// "007" of a text export is "7" in a spreadsheet's: no cell is an end as it stands, most are without zeros.
void refuse_lost_zeros(const NodeText& nodes, const NodeIds& ends, const LoadOptions& options) {
  const std::vector<std::string> names = header_names(nodes);
  for (size_t column = 0; column < names.size(); ++column) {
    if (!is_id_name(names[column]) || !is_free(names[column], options)) continue;
    int64_t without_zeros = 0, as_written = 0;
    std::string padded, plain;
    for (const std::string& cell : column_cells(nodes, column)) {
      const auto number = parse_integer(cell);
      if (!number || *number < 0) continue;
      const std::string bare = std::to_string(*number);
      as_written += cell != bare && find_end(ends, cell, true).has_value();
      if (cell == bare || !find_end(ends, bare, true)) continue;
      ++without_zeros;
      padded = cell, plain = bare;
    }
    if (as_written > 0 || 2 * without_zeros < ends.size()) continue;
    fail_usage(
        fmt::format("{}: column {} has {} where the edges have {}: one of the files lost the zeros before "
                    "ids; mend it, or say --id {} if rows are numbered as the edges are",
                    nodes.label, in_quotes(names[column]), in_quotes(padded), in_quotes(plain), kRowNumber));
  }
}

// A column of ids or row numbers that is not the id is no feature either.
void drop_unused_ids(const NodeText& nodes, const std::string& index, LoadOptions& options,
                     std::vector<std::string>& notes) {
  if (!options.features.empty()) return;
  const std::vector<std::string> names = header_names(nodes);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    const bool is_index = is_index_name(name, index);
    if (!(is_plainly_id(name) || is_index) || !is_free(name, options)) continue;
    const std::vector<std::string> cells = column_cells(nodes, column);
    if (is_index ? !counts_rows(cells) : !are_distinct(cells)) continue;
    options.drop.push_back(name);
    notes.push_back(fmt::format("{}: column {} looks like ids and is no feature; --features can name it",
                                nodes.label, in_quotes(name)));
  }
}

// The column that holds the ends, which becomes options.id, or rows.
IdSource guess_ids(const NodeText& nodes, const EdgeTable& edges, const std::string& index,
                   LoadOptions& options, std::vector<std::string>& notes) {
  const int64_t ends = edges.edges.num_nodes;
  const EndNumbers numbers = numbers_of_ends(edges);
  const int64_t rows = count_rows(nodes);
  const bool rows_from_zero = numbers.all_numbers && numbers.largest < rows;
  const bool rows_from_one = numbers.all_numbers && numbers.smallest >= 1 && numbers.largest == rows;
  const bool rows_fit = rows_from_zero || rows_from_one;
  const bool edges_count_from_zero = numbers.smallest == 0 && numbers.largest == rows - 1;
  std::vector<Candidate> fitting = find_candidates(nodes, ids_of_ends(edges), index, rows_fit, options);
  // Where row numbers do as well, a column must look like ids, and not count the same rows from 1; where it
  // lacks some ends, it must be no column of other numbers.
  std::erase_if(fitting, [&](const Candidate& candidate) {
    const bool lacks_ends = candidate.hits < ends;
    if (candidate.reserved && rows_fit && !candidate.named_as_id) return true;
    if (rows_fit && lacks_ends && candidate.counts && (candidate.is_index || edges_count_from_zero))
      return true;
    if (rows_fit && !lacks_ends && candidate.permutation) return false;
    return (rows_fit || (lacks_ends && numbers.all_numbers)) && !candidate.named_as_id;
  });
  sort_candidates(fitting, rows_fit);
  const auto is_reserved = [](const Candidate& candidate) { return candidate.reserved; };
  if (!fitting.empty() && std::all_of(fitting.begin(), fitting.end(), is_reserved)) {
    fail_usage(
        fmt::format("{}: column {} holds the ends of the edges, so that it is the node id; --id names "
                    "another, or {}",
                    nodes.label, in_quotes(fitting[0].name), kRowNumber));
  }
  std::erase_if(fitting, is_reserved);
  if (fitting.empty() || fitting[0].is_last_choice()) {
    options.id = repeated_id_column(nodes, ids_of_ends(edges), index, options);
    if (!options.id.empty()) return IdSource::kColumn;
  }
  if (fitting.empty() && !rows_fit && options.unknown_nodes == "drop") {
    fail_usage(
        fmt::format("{}: no column holds the ends of the edges, and they are no numbers of its {} rows; --id "
                    "names the column of ids, or {}",
                    nodes.label, rows, kRowNumber));
  }
  if (fitting.empty()) {
    refuse_lost_zeros(nodes, ids_of_ends(edges), options);
    return choose_rows(nodes, numbers, rows, notes);
  }
  options.id = fitting[0].name;
  notes.push_back(describe_choice(nodes, fitting, ends));
  return rows_from_zero ? IdSource::kColumnBeforeRows : IdSource::kColumn;
}

// Without edges the name alone tells.
IdSource guess_ids_by_name(const NodeText& nodes, const std::string& index, LoadOptions& options,
                           std::vector<std::string>& notes) {
  const std::vector<std::string> names = header_names(nodes);
  for (const auto& is_wanted : {is_plainly_id, +[](const std::string& name) { return is_id_name(name); }}) {
    for (size_t column = 0; column < names.size(); ++column) {
      const std::string& name = names[column];
      if (!is_wanted(name) || is_index_name(name, index) || !is_free(name, options)) continue;
      if (!are_distinct(column_cells(nodes, column))) continue;
      options.id = name;
      notes.push_back(fmt::format("{}: column {} is the node id by its name; --id names another, or {}",
                                  nodes.label, in_quotes(name), kRowNumber));
      return IdSource::kColumn;
    }
  }
  return IdSource::kRowsFromZero;
}

bool asks_for_row_numbers(const NodeText& nodes, const LoadOptions& options) {
  if (options.id != kRowNumber) return false;
  const std::vector<std::string> names = header_names(nodes);
  return std::find(names.begin(), names.end(), kRowNumber) == names.end();
}

}  // namespace

std::string name_index_column(NodeText& nodes) {
  CsvScanner scanner(nodes.text, nodes.label);
  std::vector<std::string_view> fields;
  if (!scanner.next(fields) || fields.size() < 2 || !trim(fields[0]).empty()) return "";
  std::string name = "index";
  while (std::find(fields.begin(), fields.end(), name) != fields.end()) name += '_';
  const size_t start = nodes.text.find_first_not_of("\r\n", separator_line(nodes.text).end);
  const bool is_quoted = nodes.text.compare(start, 2, "\"\"") == 0;
  nodes.text.replace(start, is_quoted ? 2 : 0, name);
  return name;
}

IdSource choose_ids(const NodeText& nodes, const EdgeTable& edges, const std::string& index,
                    LoadOptions& options, std::vector<std::string>& notes) {
  if (options.as_trained && options.id.empty() && options.as_trained->ids.starts_with("rows"))
    return options.as_trained->ids == "rows" ? IdSource::kRowsFromZero : IdSource::kRowsFromOne;
  IdSource source = options.id.empty() ? IdSource::kRowsFromZero : IdSource::kColumn;
  if (asks_for_row_numbers(nodes, options)) {
    options.id.clear();
    source = IdSource::kRowsFromZero;
  } else if (options.id.empty()) {
    source = edges.edges.num_nodes > 0 ? guess_ids(nodes, edges, index, options, notes)
                                       : guess_ids_by_name(nodes, index, options, notes);
  }
  if (!options.as_trained) drop_unused_ids(nodes, index, options, notes);
  return source;
}

}  // namespace qw
