#include "data/formats/edge_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/text.h"
#include "data/formats/adjacency_csv.h"
#include "data/formats/edge_checks.h"
#include "data/formats/numbers.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr size_t kNoColumn = EdgeLayout::kNoColumn;

struct Problem {
  int64_t line;
  std::string text;
};

// One row's worth of results; `resolve` turns an id into a node or -1.
template <class Resolve>
class RowParser {
 public:
  RowParser(const EdgeLayout& layout, EdgeList& edges, const Resolve& resolve)
      : layout_(layout), edges_(edges), resolve_(resolve) {}

  // Stores the edge at `row`; returns the problem's text, empty when there is none.
  std::string store(const std::string_view* fields, size_t count, int64_t row) const {
    if (count != layout_.width) {
      return fmt::format("{} fields, expected {} as in the first line", count, layout_.width);
    }
    edges_.tails[row] = resolve_.node(fields[layout_.tail], "left:");
    edges_.heads[row] = resolve_.node(fields[layout_.head], "right:");
    if (edges_.tails[row] < 0 || edges_.heads[row] < 0) return "a node id is empty";
    if (!edges_.costs.empty()) {
      const std::string_view text = value_text(fields, layout_.cost, layout_.cost_attribute);
      const auto cost = parse_finite(text, layout_.numbers);
      if (!cost || !(*cost >= 0)) return refusal("edge cost", text, "is not a number of at least 0");
      edges_.costs[row] = *cost;
    }
    if (!edges_.weights.empty()) {
      const std::string_view text = value_text(fields, layout_.weight, layout_.weight_attribute);
      const auto weight = parse_finite(text, layout_.numbers);
      if (!weight) return refusal("edge weight", text, "is not a number");
      edges_.weights[row] = *weight;
    }
    return {};
  }

 private:
  std::string refusal(const char* what, std::string_view text, const char* why) const {
    return fmt::format("{} {} {}", what, in_quotes(text), number_hint(text, layout_.numbers).value_or(why));
  }

  std::string_view value_text(const std::string_view* fields, size_t column,
                              const std::string& attribute) const {
    if (attribute.empty()) return trim(fields[column]);
    for (const auto& [name, value] : attributes_of(fields[layout_.width - 1])) {
      if (name == attribute) return value;
    }
    return {};
  }

  const EdgeLayout& layout_;
  EdgeList& edges_;
  const Resolve& resolve_;
};

void resize_edges(EdgeList& edges, const EdgeLayout& layout, int64_t count) {
  edges.heads.resize(count);
  edges.tails.resize(count);
  if (layout.cost != kNoColumn || !layout.cost_attribute.empty()) edges.costs.resize(count);
  if (layout.weight != kNoColumn || !layout.weight_attribute.empty()) edges.weights.resize(count);
}

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

// Rows that are lines: pieces can be read apart and stored where they belong. Returns how many lines were
// skipped as comments.
template <class Resolve>
int64_t parse_lines(const EdgeLayout& layout, const Resolve& resolve, EdgeList& edges) {
  struct Piece {
    std::string_view text;
    int64_t lines = 0;
    int64_t rows = 0;
    int64_t comments = 0;
    std::optional<Problem> problem;
  };
  std::vector<Piece> pieces;
  const size_t most = Resolve::kParallel ? 4 * static_cast<size_t>(thread_count()) : 1;
  for (const std::string_view text : pieces_of(layout.rows, most)) pieces.push_back({text, 0, 0, 0, {}});
  const auto is_comment = [&](std::string_view line) {
    return layout.style.comments && is_comment_line(line);
  };
  parallel_tasks(static_cast<int>(pieces.size()), [&](int task) {
    Piece& piece = pieces[task];
    for_lines(piece.text, [&](std::string_view line) {
      ++piece.lines;
      piece.comments += is_comment(line);
      piece.rows += !is_blank_line(line) && !is_comment(line);
      return true;
    });
  });
  std::vector<int64_t> first_line{layout.first_line}, first_row{0};
  int64_t comments = 0;
  for (const Piece& piece : pieces) {
    first_line.push_back(first_line.back() + piece.lines);
    first_row.push_back(first_row.back() + piece.rows);
    comments += piece.comments;
  }
  resize_edges(edges, layout, first_row.back());

  const RowParser<Resolve> parser(layout, edges, resolve);
  parallel_tasks(static_cast<int>(pieces.size()), [&](int task) {
    std::vector<std::string_view> fields(layout.width + 1);
    int64_t line_number = first_line[task];
    int64_t row = first_row[task];
    for_lines(pieces[task].text, [&](std::string_view line) {
      if (!is_blank_line(line) && !is_comment(line)) {
        const size_t count = split_row(line, layout.style, fields.data(), fields.size());
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
    if (piece.problem) fail_at_line(layout.label, piece.problem->line, piece.problem->text);
  }
  return comments;
}

template <class Resolve>
void parse_quoted_rows(const EdgeLayout& layout, const Resolve& resolve, EdgeList& edges) {
  EdgeRowScanner scanner(layout.rows, layout.label, layout.style, layout.first_line);
  const RowParser<Resolve> parser(layout, edges, resolve);
  std::vector<std::string_view> fields;
  int64_t row = 0;
  while (scanner.next(fields)) {
    resize_edges(edges, layout, row + 1);
    const std::string problem = parser.store(fields.data(), fields.size(), row++);
    if (!problem.empty()) fail_at_line(layout.label, scanner.line(), problem);
  }
}

template <class Resolve>
int64_t parse_rows(const EdgeLayout& layout, const Resolve& resolve, EdgeList& edges) {
  const bool by_line = layout.style.is_by_line() || layout.rows.find('"') == std::string_view::npos;
  if (by_line) return parse_lines(layout, resolve, edges);
  parse_quoted_rows(layout, resolve, edges);
  return 0;
}

// Ids as they are, when all are plain numbers; throws NotNumbers otherwise.
struct NotNumbers {};
struct PlainNumbers {
  static constexpr bool kParallel = true;
  NodeId node(std::string_view field, const char*) const {
    if (const auto number = plain_number(trim(field))) return *number;
    throw NotNumbers{};
  }
};

// Any text, numbered in order of appearance; in a bipartite graph, apart for its two sides.
struct AppearingIds {
  static constexpr bool kParallel = false;
  NameTable& table;
  bool bipartite;
  NodeId node(std::string_view field, const char* side) const {
    const std::string_view name = trim(field);
    if (name.empty()) return -1;
    return bipartite ? table.find_or_add(side + std::string(name)) : table.find_or_add(name);
  }
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

// "1.0" and "1" are one node when all ids are whole numbers: pandas writes a column of numbers with a gap as
// floats.
void merge_float_names(EdgeTable& table) {
  if (table.names.empty()) return;
  std::vector<NodeId> numbers;
  std::string example;
  for (const std::string& name : table.names) {
    const std::string_view whole = without_zero_fraction(name);
    const auto number = plain_number(whole);
    if (!number) return;
    if (example.empty() && whole.size() < name.size()) example = name;
    numbers.push_back(*number);
  }
  if (example.empty()) return;
  for (auto* ends : {&table.edges.heads, &table.edges.tails}) {
    for (NodeId& node : *ends) node = numbers[node];
  }
  table.names.clear();
  compact_numbers(table.edges, 16 * table.edges.heads.size(), table.names);
  table.notes.push_back(
      fmt::format("node ids such as {} are read as whole numbers, {}; --exact-ids keeps them",
                  in_quotes(example), in_quotes(without_zero_fraction(example))));
}

EdgeTable read_rows(EdgeLayout layout, const LoadOptions& options) {
  EdgeTable table;
  table.layout = std::move(layout);
  EdgeList& edges = table.edges;
  int64_t comments = 0;
  try {
    if (table.layout.bipartite) throw NotNumbers{};
    comments = parse_rows(table.layout, PlainNumbers{}, edges);
    compact_numbers(edges, table.layout.rows.size(), table.names);
  } catch (const NotNumbers&) {
    edges = {};
    NameTable names;
    comments = parse_rows(table.layout, AppearingIds{names, table.layout.bipartite}, edges);
    edges.num_nodes = static_cast<int64_t>(names.size());
    table.names = names.take_names();
    if (!options.exact_ids) merge_float_names(table);
  }
  if (comments > 0) {
    table.notes.push_back(comments_note(comments));
  }
  return table;
}

}  // namespace

EdgeTable read_edge_csv(std::string_view text, const std::string& label, const LoadOptions& options) {
  EdgeLayout layout = find_edge_layout(text, label, options);
  if (auto matrix = read_adjacency(layout, options)) return std::move(*matrix);
  EdgeTable table = read_rows(std::move(layout), options);
  if (header_is_an_edge(table)) {
    LoadOptions headless = options;
    headless.header = "no";
    table = read_rows(find_edge_layout(text, label, headless), options);
    table.notes.emplace_back(
        "the first line was read as an edge, since its nodes have other edges; --header yes makes it a "
        "header");
  }
  if (options.header == "auto" && first_line_counts(table)) {
    EdgeLayout below = std::move(table.layout);
    below.rows.remove_prefix(below.rows.find('\n') + 1);
    ++below.first_line;
    table = read_rows(std::move(below), options);
    table.notes.emplace_back(kFirstLineCounts);
  }
  refuse_node_table(table, options);
  table.notes.insert(table.notes.begin(), table.layout.notes.begin(), table.layout.notes.end());
  return table;
}

std::optional<PlainRows> read_plain_rows(const EdgeLayout& layout) {
  PlainRows rows;
  try {
    rows.comments = parse_rows(layout, PlainNumbers{}, rows.edges);
  } catch (const NotNumbers&) {
    return std::nullopt;
  }
  return rows;
}

std::string comments_note(int64_t comments) {
  return fmt::format(
      "{} lines among the edges begin with # or % and were skipped; --comments keep reads them", comments);
}

int64_t line_of_edge(const EdgeTable& table, int64_t edge) {
  if (!table.matrix_lines.empty()) return table.matrix_lines[edge];
  const EdgeLayout& layout = table.layout;
  EdgeRowScanner scanner(layout.rows, layout.label, layout.style, layout.first_line);
  std::vector<std::string_view> fields;
  for (int64_t at = 0; at <= edge; ++at) scanner.next(fields);
  return scanner.line();
}

}  // namespace qw
