#include "data/formats/edge_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/text.h"
#include "data/formats/csv.h"
#include "data/formats/numbers.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr size_t kNoColumn = static_cast<size_t>(-1);

struct EdgeColumns {
  size_t head = 0;
  size_t tail = 1;
  size_t cost = kNoColumn;
  size_t weight = kNoColumn;
  size_t count = 2;  // fields per row
};

// Where the rows are and which columns matter.
struct RowSource {
  std::string_view rows;
  int64_t first_line = 1;
  char separator = ',';
  std::string label;
  EdgeColumns columns;
  NumberFormat numbers;
  std::vector<std::string> header_ends;  // what stands over the two ends; empty without a header
};

bool first_row_is_edge(const std::vector<std::string_view>& fields, const LoadOptions& options,
                       const NodeIds* ids) {
  if (!options.source.empty() || !options.destination.empty() || fields.size() < 2) return false;
  if (!options.edge_cost.empty() || !options.edge_weight.empty()) return false;
  const auto is_end = [&](std::string_view field) {
    return parse_integer(trim(field)).has_value() || (ids != nullptr && ids->find(trim(field)).has_value());
  };
  return is_end(fields[0]) && is_end(fields[1]);
}

// One end by name leaves the other to be the other of the first two columns.
void choose_columns(const CsvHeader& header, const LoadOptions& options, EdgeColumns& columns) {
  const auto named = [&](const std::string& name, const char* option, size_t otherwise) {
    return name.empty() ? otherwise : header.column(name, option);
  };
  columns.head = named(options.source, "--source", kNoColumn);
  columns.tail = named(options.destination, "--destination", columns.head == 1 ? 0 : 1);
  if (columns.head == kNoColumn) columns.head = columns.tail == 0 ? 1 : 0;
  if (columns.head == columns.tail) {
    fail_usage(fmt::format("{}: --source and --destination are the same column, {}", header.label,
                           in_quotes(header.names[columns.head])));
  }
  columns.cost = named(options.edge_cost, "--edge-cost", kNoColumn);
  columns.weight = named(options.edge_weight, "--edge-weight", kNoColumn);
}

RowSource open_table(std::string_view text, const std::string& label, const LoadOptions& options,
                     const NodeIds* ids) {
  CsvScanner scanner(text, label);
  RowSource table;
  table.label = label;
  table.separator = scanner.separator();
  table.numbers = number_format(options.decimal);
  std::vector<std::string_view> fields;
  const size_t start = scanner.position();
  if (!scanner.next(fields)) fail(fmt::format("{}: is empty; expected edges", label));
  table.columns.count = fields.size();
  for (const std::string_view field : fields) {
    if (field.find('\r') == std::string_view::npos) continue;
    fail_at_line(label, scanner.line(), "a carriage return stands inside a line; lines end in LF or CRLF");
  }
  if (fields.size() < 2) {
    fail_at_line(label, scanner.line(),
                 fmt::format("an edge needs two ends, but there is one column: {}", in_quotes(fields[0])));
  }
  if (first_row_is_edge(fields, options, ids)) {
    table.rows = text.substr(start);
    return table;
  }
  CsvScanner again(text, label);
  const CsvHeader header = read_header(again);
  choose_columns(header, options, table.columns);
  table.header_ends = {header.names[table.columns.head], header.names[table.columns.tail]};
  table.rows = text.substr(again.position());
  table.first_line = 1 + std::count(text.begin(), text.begin() + again.position(), '\n');
  return table;
}

struct Problem {
  int64_t line;
  std::string text;
};

// One row's worth of results; `resolve` turns an id into a node or -1.
template <class Resolve>
class RowParser {
 public:
  RowParser(const RowSource& table, EdgeList& edges, const Resolve& resolve)
      : table_(table), edges_(edges), resolve_(resolve) {}

  // Stores the edge at `row`; returns the problem's text, empty when there is none.
  std::string store(const std::string_view* fields, size_t count, int64_t row) const {
    const EdgeColumns& columns = table_.columns;
    if (count != columns.count) {
      return fmt::format("{} fields, expected {} as in the first line", count, columns.count);
    }
    edges_.heads[row] = resolve_.node(fields[columns.head]);
    if (edges_.heads[row] < 0) return resolve_.explain(fields[columns.head]);
    edges_.tails[row] = resolve_.node(fields[columns.tail]);
    if (edges_.tails[row] < 0) return resolve_.explain(fields[columns.tail]);
    if (columns.cost != kNoColumn) {
      const auto cost = parse_finite(trim(fields[columns.cost]), table_.numbers);
      if (!cost || !(*cost >= 0))
        return refusal("edge cost", fields[columns.cost], "is not a number of at least 0");
      edges_.costs[row] = *cost;
    }
    if (columns.weight != kNoColumn) {
      const auto weight = parse_finite(trim(fields[columns.weight]), table_.numbers);
      if (!weight) return refusal("edge weight", fields[columns.weight], "is not a number");
      edges_.weights[row] = *weight;
    }
    return {};
  }

 private:
  std::string refusal(const char* what, std::string_view field, const char* why) const {
    return fmt::format("{} {} {}", what, in_quotes(field),
                       number_hint(trim(field), table_.numbers).value_or(why));
  }

  const RowSource& table_;
  EdgeList& edges_;
  const Resolve& resolve_;
};

void resize_edges(EdgeList& edges, const EdgeColumns& columns, int64_t count) {
  edges.heads.resize(count);
  edges.tails.resize(count);
  if (columns.cost != kNoColumn) edges.costs.resize(count);
  if (columns.weight != kNoColumn) edges.weights.resize(count);
}

bool is_blank(std::string_view line) { return line.empty() || line == "\r"; }

template <class Visit>
void for_lines(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const void* newline = std::memchr(text.data(), '\n', text.size());
    const size_t length = newline == nullptr ? text.size() : static_cast<const char*>(newline) - text.data();
    if (!visit(text.substr(0, length))) return;
    text.remove_prefix(std::min(text.size(), length + 1));
  }
}

// Splits the rows at line ends into at most `most` about equal pieces.
std::vector<std::string_view> pieces_of(std::string_view rows, size_t most) {
  constexpr size_t kSmallestPiece = 1 << 16;
  const size_t count = std::clamp<size_t>(rows.size() / kSmallestPiece, 1, most);
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  for (size_t piece = 1; piece <= count && begin < rows.size(); ++piece) {
    size_t end = piece == count ? rows.size() : rows.find('\n', std::max(begin, rows.size() / count * piece));
    end = end == std::string_view::npos || end == rows.size() ? rows.size() : end + 1;
    pieces.push_back(rows.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

// Rows without quotes: every line is a row, so that pieces can be read apart and stored where they belong.
template <class Resolve>
void parse_plain_rows(const RowSource& table, const Resolve& resolve, EdgeList& edges) {
  struct Piece {
    std::string_view text;
    int64_t lines = 0;
    int64_t rows = 0;
    std::optional<Problem> problem;
  };
  std::vector<Piece> pieces;
  const size_t most = Resolve::kParallel ? 4 * static_cast<size_t>(thread_count()) : 1;
  for (const std::string_view text : pieces_of(table.rows, most)) pieces.push_back({text, 0, 0, {}});
  parallel_tasks(static_cast<int>(pieces.size()), [&](int task) {
    Piece& piece = pieces[task];
    for_lines(piece.text, [&](std::string_view line) {
      ++piece.lines;
      piece.rows += !is_blank(line);
      return true;
    });
  });
  std::vector<int64_t> first_line{table.first_line}, first_row{0};
  for (const Piece& piece : pieces) {
    first_line.push_back(first_line.back() + piece.lines);
    first_row.push_back(first_row.back() + piece.rows);
  }
  resize_edges(edges, table.columns, first_row.back());

  const RowParser<Resolve> parser(table, edges, resolve);
  parallel_tasks(static_cast<int>(pieces.size()), [&](int task) {
    std::vector<std::string_view> fields(table.columns.count + 1);
    int64_t line_number = first_line[task];
    int64_t row = first_row[task];
    for_lines(pieces[task].text, [&](std::string_view line) {
      if (!is_blank(line)) {
        if (line.back() == '\r') line.remove_suffix(1);
        size_t count = 0;
        while (count <= table.columns.count) {
          const size_t end = line.find(table.separator);
          fields[count++] = line.substr(0, end);
          if (end == std::string_view::npos) break;
          line.remove_prefix(end + 1);
        }
        std::string problem = parser.store(fields.data(), count, row++);
        if (!problem.empty()) {
          pieces[task].problem = Problem{line_number, std::move(problem)};
          return false;
        }
      }
      ++line_number;
      return true;
    });
  });
  for (const Piece& piece : pieces) {
    if (piece.problem) fail_at_line(table.label, piece.problem->line, piece.problem->text);
  }
}

template <class Resolve>
void parse_quoted_rows(const RowSource& table, const Resolve& resolve, EdgeList& edges) {
  CsvScanner scanner(table.rows, table.label, table.separator, table.first_line);
  const RowParser<Resolve> parser(table, edges, resolve);
  std::vector<std::string_view> fields;
  int64_t row = 0;
  while (scanner.next(fields)) {
    resize_edges(edges, table.columns, row + 1);
    const std::string problem = parser.store(fields.data(), fields.size(), row++);
    if (!problem.empty()) fail_at_line(table.label, scanner.line(), problem);
  }
}

template <class Resolve>
void parse_rows(const RowSource& table, const Resolve& resolve, EdgeList& edges) {
  if (table.rows.find('"') == std::string_view::npos) {
    parse_plain_rows(table, resolve, edges);
  } else {
    parse_quoted_rows(table, resolve, edges);
  }
}

struct KnownIds {
  static constexpr bool kParallel = true;
  const NodeIds& ids;
  NodeId node(std::string_view field) const { return ids.find(trim(field)).value_or(-1); }
  std::string explain(std::string_view field) const { return ids.explain(trim(field)); }
};

// Ids as they are, when all are plain numbers; throws NotNumbers otherwise.
struct NotNumbers {};
struct PlainNumbers {
  static constexpr bool kParallel = true;
  NodeId node(std::string_view field) const {
    if (const auto number = plain_number(trim(field))) return *number;
    throw NotNumbers{};
  }
  std::string explain(std::string_view) const { return {}; }
};

// Any text, numbered in order of appearance.
struct AppearingIds {
  static constexpr bool kParallel = false;
  NameTable& table;
  NodeId node(std::string_view field) const {
    const std::string_view name = trim(field);
    return name.empty() ? -1 : table.find_or_add(name);
  }
  std::string explain(std::string_view) const { return "a node id is empty"; }
};

// Renumbers the plain numbers in use to 0, 1, 2, ... in ascending order.
void compact_numbers(EdgeList& edges, size_t text_bytes, std::vector<std::string>& names) {
  NodeId largest = -1;
  for (const auto* ends : {&edges.heads, &edges.tails}) {
    for (const NodeId node : *ends) largest = std::max(largest, node);
  }
  std::vector<NodeId> used;
  std::vector<NodeId> rank;
  const bool dense = largest < static_cast<int64_t>(text_bytes) + 1024;
  if (dense) {
    rank.assign(largest + 1, -1);
    for (const auto* ends : {&edges.heads, &edges.tails}) {
      for (const NodeId node : *ends) rank[node] = 0;
    }
    for (NodeId number = 0; number <= largest; ++number) {
      if (rank[number] < 0) continue;
      rank[number] = static_cast<NodeId>(used.size());
      used.push_back(number);
    }
  } else {
    used.reserve(2 * edges.heads.size());
    for (const auto* ends : {&edges.heads, &edges.tails}) used.insert(used.end(), ends->begin(), ends->end());
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
  }
  edges.num_nodes = static_cast<int64_t>(used.size());
  if (edges.num_nodes == largest + 1) return;
  for (auto* ends : {&edges.heads, &edges.tails}) {
    for (NodeId& node : *ends) {
      node = dense ? rank[node]
                   : static_cast<NodeId>(std::lower_bound(used.begin(), used.end(), node) - used.begin());
    }
  }
  for (const NodeId number : used) names.push_back(std::to_string(number));
}

}  // namespace

EdgeTable read_edge_csv(std::string_view text, const std::string& label, const LoadOptions& options,
                        const NodeIds* ids) {
  const RowSource table = open_table(text, label, options, ids);
  EdgeTable result;
  EdgeList& edges = result.edges;
  if (ids != nullptr) {
    parse_rows(table, KnownIds{*ids}, edges);
    edges.num_nodes = ids->size();
    return result;
  }
  try {
    parse_rows(table, PlainNumbers{}, edges);
    compact_numbers(edges, text.size(), result.discovered);
  } catch (const NotNumbers&) {
    edges = {};
    NameTable names;
    parse_rows(table, AppearingIds{names}, edges);
    edges.num_nodes = static_cast<int64_t>(names.size());
    for (const std::string& end : table.header_ends) {
      if (!names.find(end)) continue;
      result.notes.push_back(
          fmt::format("the first line was taken for a header, but {} in it is a node too; if it is an "
                      "edge, put a header above it",
                      in_quotes(end)));
      break;
    }
    result.discovered = names.take_names();
  }
  return result;
}

}  // namespace qw
