#include "data/formats/adjacency_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr const char* kReadAsList = "--source and --destination name the columns of a list of edges";

struct Row {
  int64_t line;
  std::vector<std::string> cells;
};

// The first row and the others, up to one more than a square has; a longer file is not read further.
std::vector<Row> read_square(const EdgeLayout& layout) {
  EdgeRowScanner scanner(layout.table, layout.label, layout.style, layout.table_line);
  std::vector<Row> rows;
  std::vector<std::string_view> fields;
  while (rows.size() < layout.width + 3 && scanner.next(fields)) {
    rows.push_back({scanner.line(), {}});
    for (const std::string_view field : fields) rows.back().cells.emplace_back(trim(field));
  }
  return rows;
}

std::optional<double> entry_of(const std::string& cell) {
  if (cell.empty()) return 0.0;
  const auto number = parse_number(cell);
  return number && std::isnan(*number) ? std::optional(0.0) : number;
}

bool all_numbers(const std::vector<Row>& rows, size_t first_row, size_t width) {
  return std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(first_row), rows.end(), [&](const Row& row) {
    return row.cells.size() == width && std::all_of(row.cells.begin(), row.cells.end(), [](const auto& cell) {
             return parse_number(cell).has_value();
           });
  });
}

// Whether the entries from `first_row` on, a square of numbers, are what an adjacency matrix has.
bool is_plain_adjacency(const std::vector<Row>& rows, size_t first_row) {
  bool zero_or_one = true, symmetric = true;
  const size_t count = rows.size() - first_row;
  const auto entry = [&](size_t i, size_t j) { return *parse_number(rows[first_row + i].cells[j]); };
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      zero_or_one = zero_or_one && (entry(i, j) == 0 || entry(i, j) == 1);
      symmetric = symmetric && entry(i, j) == entry(j, i);
    }
  }
  return zero_or_one || symmetric;
}

// A square of numbers cannot say which nodes it is about. Up to three columns it may be a list of edges.
void refuse_nameless(const std::vector<Row>& rows, const EdgeLayout& layout) {
  const size_t width = rows[0].cells.size();
  if (width < 4) return;
  const bool headless =
      rows.size() == width && all_numbers(rows, 0, width) && (width > 4 || is_plain_adjacency(rows, 0));
  const bool under_header =
      rows.size() == width + 1 && all_numbers(rows, 1, width) && is_plain_adjacency(rows, 1);
  if (!headless && !under_header) return;
  fail(fmt::format(
      "{}: looks like an adjacency matrix of {} nodes {}; write their names into the first row and "
      "the first column ({})",
      layout.label, width, headless ? "without their names" : "without names beside its rows", kReadAsList));
}

// Names of the columns, and their entries beside the name of a row.
struct Names {
  std::vector<std::string> columns;
  std::map<std::string, NodeId, std::less<>> number;
};

// R leaves the corner out, so that its first row is one field shorter.
Names names_of(const std::vector<Row>& rows) {
  Names names;
  const bool has_corner = rows[1].cells.size() == rows[0].cells.size();
  names.columns.assign(rows[0].cells.begin() + (has_corner ? 1 : 0), rows[0].cells.end());
  for (const std::string& name : names.columns)
    names.number.emplace(name, static_cast<NodeId>(names.number.size()));
  return names;
}

// Whether rows and columns bear the same names; throws when most do but not all.
bool names_agree(const std::vector<Row>& rows, const Names& names, const EdgeLayout& layout) {
  const size_t count = names.columns.size();
  if (names.number.size() != count || names.number.contains("")) return false;
  std::set<std::string> row_names;
  const Row* stranger = nullptr;
  size_t known = 0;
  for (size_t row = 1; row < rows.size(); ++row) {
    if (rows[row].cells.size() != count + 1) return false;
    const std::string& name = rows[row].cells[0];
    row_names.insert(name);
    known += names.number.contains(name);
    if (!names.number.contains(name) && stranger == nullptr) stranger = &rows[row];
  }
  const size_t given = rows.size() - 1;
  if (given == count && known == count && row_names.size() == count) return true;
  if (known < 3 || 5 * known < 4 * given) return false;
  const std::string problem =
      stranger != nullptr        ? fmt::format("row {} is no column", in_quotes(stranger->cells[0]))
      : row_names.size() < given ? "a row stands twice"
                                 : fmt::format("it has {} columns but {} rows", count, given);
  fail_at_line(
      layout.label, stranger != nullptr ? stranger->line : rows[0].line,
      fmt::format("looks like an adjacency matrix, but {}; rows and columns need the same names ({})",
                  problem, kReadAsList));
}

int64_t count_asymmetric(const EdgeList& edges) {
  std::map<std::pair<NodeId, NodeId>, double> entries;
  for (size_t e = 0; e < edges.heads.size(); ++e)
    entries[{edges.tails[e], edges.heads[e]}] = edges.weights[e];
  int64_t count = 0;
  for (const auto& [place, weight] : entries) {
    const auto mirrored = entries.find({place.second, place.first});
    if (mirrored == entries.end()) {
      ++count;
    } else {
      count += place.first < place.second && mirrored->second != weight;
    }
  }
  return count;
}

void say_what_was_read(EdgeTable& table, bool weighted, bool directed) {
  table.notes.push_back(
      fmt::format("read as an adjacency matrix of {} nodes, whose entries that are not zero are edges{}; {}",
                  table.edges.num_nodes, weighted ? " and their weights" : "", kReadAsList));
  const int64_t asymmetric = directed ? 0 : count_asymmetric(table.edges);
  if (asymmetric == 0) return;
  table.notes.push_back(fmt::format(
      "{} pairs of nodes have another entry in the other direction, and the graph is read without "
      "direction: the first entry that is not zero counts; --directed keeps both",
      asymmetric));
}

EdgeTable read_entries(const std::vector<Row>& rows, Names names, const EdgeLayout& layout, bool directed) {
  EdgeTable table;
  table.layout = layout;
  table.layout.header_is_guess = false;
  EdgeList& edges = table.edges;
  edges.num_nodes = static_cast<int64_t>(names.columns.size());
  for (size_t row = 1; row < rows.size(); ++row) {
    for (size_t column = 0; column < names.columns.size(); ++column) {
      const std::string& cell = rows[row].cells[column + 1];
      const auto entry = entry_of(cell);
      if (!entry || std::isinf(*entry)) {
        fail_at_line(layout.label, rows[row].line,
                     fmt::format("{} in the column of {} is not a number; an adjacency matrix has numbers",
                                 in_quotes(cell), in_quotes(names.columns[column])));
      }
      if (*entry == 0) continue;
      edges.tails.push_back(names.number.find(rows[row].cells[0])->second);
      edges.heads.push_back(static_cast<NodeId>(column));
      edges.weights.push_back(*entry);
      table.matrix_lines.push_back(rows[row].line);
    }
  }
  const bool weighted =
      std::any_of(edges.weights.begin(), edges.weights.end(), [](double w) { return w != 1; });
  say_what_was_read(table, weighted, directed);
  if (!weighted) edges.weights.clear();
  for (size_t node = 0; node < names.columns.size(); ++node) {
    if (names.columns[node] != std::to_string(node)) table.names = names.columns;
  }
  return table;
}

}  // namespace

std::optional<EdgeTable> read_adjacency(const EdgeLayout& layout, const LoadOptions& options) {
  const bool columns_are_named = !options.source.empty() || !options.destination.empty() ||
                                 !options.edge_cost.empty() || !options.edge_weight.empty();
  if (columns_are_named || layout.names_are_ends || layout.style.attributes || layout.width < 3)
    return std::nullopt;
  const std::vector<Row> rows = read_square(layout);
  if (rows.size() < 3) return std::nullopt;
  Names names = names_of(rows);
  // Three fields may be an edge and its weight: there the corner must be empty.
  const bool may_be_matrix = layout.width > 3 || names.columns.size() == 3 || rows[0].cells[0].empty();
  if (may_be_matrix && names_agree(rows, names, layout))
    return read_entries(rows, std::move(names), layout, options.directed);
  refuse_nameless(rows, layout);
  return std::nullopt;
}

}  // namespace qw
