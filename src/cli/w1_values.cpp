#include "cli/w1_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/file.h"
#include "core/text.h"
#include "data/formats/csv.h"
#include "data/formats/encoding.h"
#include "data/formats/gzip.h"
#include "data/formats/numbers.h"
#include "qw/core/error.h"

namespace qw::cli {

std::string counted(int64_t count, const char* thing) {
  return fmt::format("{} {}{}", with_thousands(count), thing, count == 1 ? "" : "s");
}

std::string id_of(const NodeIds& ids, NodeId node) {
  return ids.names().empty() ? std::to_string(node) : ids.names()[node];
}

namespace {

std::string read_text(const std::string& path, const std::string& encoding, std::vector<std::string>& notes) {
  std::string bytes = read_file(path);
  return to_utf8(path.ends_with(".gz") ? gunzip(bytes, path) : bytes, path, encoding, notes);
}

std::string explain_unknown_node(std::string_view id, const NodeIds& ids) {
  const std::string known = ids.size() == 0 ? "none" : fmt::format("{}, ...", in_quotes(id_of(ids, 0)));
  return fmt::format("node {} is not in the graph ({}: {}); a node without edges must be listed in --nodes",
                     in_quotes(id), counted(ids.size(), "node"), known);
}

// How numbers and missing values are written.
struct CellFormat {
  explicit CellFormat(const LoadOptions& options)
      : missing(options.missing), numbers(number_format(options.decimal)) {}

  bool is_missing(std::string_view field) const { return missing.contains(field); }
  bool is_value_or_missing(std::string_view field) const {
    return is_missing(trim(field)) || parse_finite(trim(field), numbers) ||
           number_hint(trim(field), numbers).has_value();
  }

  MissingSpellings missing;
  NumberFormat numbers;
};

// What people and programs write over a column of node ids; pandas leaves it empty.
bool names_ids(std::string_view name) {
  static constexpr std::array kNames = {"",     "id",    "node",   "node_id", "nodeid",
                                        "name", "index", "vertex", "key"};
  return std::ranges::find(kNames, lower(trim(name))) != kNames.end();
}

// Throws where the line could be either: a header taken for a row, or a row for a header, is a wrong answer.
bool is_header(const std::vector<std::string_view>& row, const NodeIds& ids, const CellFormat& format,
               const CsvScanner& scanner) {
  const auto text = std::find_if_not(
      row.begin() + 1, row.end(), [&](std::string_view field) { return format.is_value_or_missing(field); });
  const bool is_node = ids.find(trim(row[0])).has_value();
  if (is_node && text != row.end()) {
    fail_at_line(scanner.label(), scanner.line(),
                 fmt::format("{} is a node, but {} beside it is not a number; if this line is a header, call "
                             "its first column id",
                             in_quotes(row[0]), in_quotes(*text)));
  }
  if (!is_node && text == row.end() && !names_ids(row[0])) {
    fail_at_line(
        scanner.label(), scanner.line(),
        explain_unknown_node(trim(row[0]), ids) + "; if this line is a header, call its first column id");
  }
  return !is_node;
}

void check_header(const ValueTable& table, int64_t line) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string name = lower(table.columns[c]);
    if (name == "id" || name == "node" || name == "node_id") {
      fail_at_line(table.file, line,
                   fmt::format("the node ids must be the first column, but {} is column {}",
                               in_quotes(table.columns[c]), c + 2));
    }
    if (std::find(table.columns.begin(), table.columns.begin() + c, table.columns[c]) !=
        table.columns.begin() + c) {
      fail_at_line(table.file, line, fmt::format("two columns are named {}", in_quotes(table.columns[c])));
    }
  }
}

double value_of(std::string_view cell, const CellFormat& format, const std::string& column,
                const CsvScanner& scanner) {
  const std::string_view field = trim(cell);
  if (format.is_missing(field)) {
    fail_at_line(scanner.label(), scanner.line(),
                 fmt::format("the value in column {} is missing ({}); write a number, or leave the row out "
                             "and say what that means with --absent",
                             in_quotes(column), field.empty() ? "an empty cell" : in_quotes(field)));
  }
  const auto value = parse_finite(field, format.numbers);
  if (value) return *value;
  fail_at_line(scanner.label(), scanner.line(),
               fmt::format("{} in column {} {}", in_quotes(field), in_quotes(column),
                           number_hint(field, format.numbers).value_or("is not a number")));
}

}  // namespace

ValueTable read_value_table(const std::string& path, const NodeIds& ids, const LoadOptions& options) {
  ValueTable table;
  const std::string text = read_text(path, options.encoding, table.notes);
  const CellFormat format(options);
  CsvScanner scanner(text, path);
  std::vector<std::string_view> fields;
  bool more = scanner.next(fields);
  if (!more || fields.size() < 2) {
    fail_at_line(path, 1, "expected a column of node ids and at least one of values");
  }
  table.file = path;
  const size_t width = fields.size();
  table.has_header = is_header(fields, ids, format, scanner);
  for (size_t c = 1; c < width; ++c) {
    const std::string_view name = table.has_header ? trim(fields[c]) : "";
    table.columns.push_back(name.empty() ? std::to_string(c) : std::string(name));
  }
  if (table.has_header) {
    check_header(table, scanner.line());
    more = scanner.next(fields);
  }
  if (!more) fail(fmt::format("{}: has a header and no rows", path));
  std::vector<int64_t> line_of_node(ids.size(), 0);
  for (; more; more = scanner.next(fields)) {
    if (fields.size() != width) {
      fail_at_line(path, scanner.line(), fmt::format("expected {} fields, found {}", width, fields.size()));
    }
    const auto node = ids.find(trim(fields[0]));
    if (!node) fail_at_line(path, scanner.line(), explain_unknown_node(trim(fields[0]), ids));
    if (line_of_node[*node] > 0) {
      fail_at_line(
          path, scanner.line(),
          fmt::format("node {} has a row already, in line {}", in_quotes(fields[0]), line_of_node[*node]));
    }
    line_of_node[*node] = scanner.line();
    table.nodes.push_back(*node);
    table.lines.push_back(scanner.line());
    for (size_t c = 1; c < width; ++c) {
      table.values.push_back(value_of(fields[c], format, table.columns[c - 1], scanner));
    }
  }
  return table;
}

namespace {

class LabelledNodes {
 public:
  explicit LabelledNodes(const NodeIds& ids) : ids_(ids), seen_(ids.size(), 0) {}

  // What is wrong with the id; empty when nothing is.
  std::string add(std::string_view id) {
    const auto node = ids_.find(id);
    if (!node) return explain_unknown_node(id, ids_);
    if (seen_[*node]) return fmt::format("node {} is named twice", in_quotes(id));
    seen_[*node] = 1;
    nodes_.push_back(*node);
    return {};
  }
  std::vector<NodeId> take() { return std::move(nodes_); }

 private:
  const NodeIds& ids_;
  std::vector<char> seen_;
  std::vector<NodeId> nodes_;
};

std::vector<NodeId> read_labelled_file(const std::string& path, const NodeIds& ids,
                                       const std::string& encoding) {
  std::vector<std::string> notes;
  const std::string text = read_text(path, encoding, notes);
  CsvScanner scanner(text, path);
  std::vector<std::string_view> fields;
  LabelledNodes labelled(ids);
  for (bool first = true; scanner.next(fields); first = false) {
    if (fields.size() != 1) {
      fail_at_line(path, scanner.line(),
                   fmt::format("expected one node id a line, found {} fields", fields.size()));
    }
    const std::string_view id = trim(fields[0]);
    if (first && names_ids(id) && !ids.find(id)) continue;
    const std::string problem = labelled.add(id);
    if (!problem.empty()) fail_at_line(path, scanner.line(), problem);
  }
  return labelled.take();
}

}  // namespace

std::vector<NodeId> read_labelled(const std::string& what, const NodeIds& ids, const LoadOptions& options) {
  std::vector<NodeId> nodes;
  std::error_code ignored;
  if (std::filesystem::exists(what, ignored)) {
    if (ids.find(what)) {
      fail_usage(fmt::format("qw w1: --labelled {} is a node and a file; write ./{} for the file",
                             in_quotes(what), printable(what)));
    }
    nodes = read_labelled_file(what, ids, options.encoding);
  } else {
    CsvScanner scanner(what, "--labelled", ',', 1);
    std::vector<std::string_view> fields;
    scanner.next(fields);
    LabelledNodes labelled(ids);
    for (const std::string_view id : fields) {
      const std::string problem = labelled.add(trim(id));
      if (problem.empty()) continue;
      fail_usage(fmt::format("qw w1: --labelled: {}{}", problem,
                             ids.find(trim(id)) ? "" : "; there is no such file either"));
    }
    nodes = labelled.take();
  }
  if (nodes.empty()) fail_usage("qw w1: --labelled names no node");
  return nodes;
}

}  // namespace qw::cli
