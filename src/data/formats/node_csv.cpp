#include "data/formats/node_csv.h"

#include <fmt/format.h>

#include "core/text.h"
#include "data/formats/column_summary.h"
#include "data/formats/node_features.h"
#include "data/formats/node_targets.h"
#include "data/formats/trained_columns.h"
#include "data/split_file.h"
#include "qw/core/error.h"

namespace qw {
namespace {

NodeIds make_ids(const NodeTableText& text, int64_t rows) {
  const NodeLayout& layout = text.layout;
  if (layout.id == NodeLayout::kNoColumn) return NodeIds::row_numbers(rows, text.label());
  NameTable seen;
  std::vector<int64_t> line_of;
  for_rows(text, [&](const std::vector<std::string_view>& cells, int64_t line) {
    const std::string_view name = cells[layout.id];
    if (name.empty()) fail_at_line(text.label(), line, "the node id is empty");
    const auto row = static_cast<size_t>(seen.find_or_add(name));
    if (row < line_of.size()) {
      fail_at_line(text.label(), line,
                   fmt::format("node id {} stands already in line {}", in_quotes(name), line_of[row]));
    }
    line_of.push_back(line);
  });
  return NodeIds::named(seen.take_names(), text.label());
}

void read_split(const NodeTableText& text, NodeTable& table) {
  Split split;
  NodeId node = 0;
  int64_t unlabelled = 0;
  for_rows(text, [&](const std::vector<std::string_view>& cells, int64_t line) {
    std::vector<NodeId>* members = part_named(split, cells[text.layout.split]);
    const bool missing = text.missing.contains(cells[text.layout.split]);
    table.columns[text.layout.split].missing += missing;
    if (members == nullptr && !missing) {
      fail_at_line(
          text.label(), line,
          fmt::format("split {} is none of train, val, test or empty", in_quotes(cells[text.layout.split])));
    }
    const bool labelled = table.targets.task == Task::kNone || table.targets.known(node);
    if (members != nullptr && labelled) members->push_back(node);
    unlabelled += members != nullptr && !labelled;
    ++node;
  });
  if (unlabelled > 0) {
    table.notes.push_back(
        fmt::format("{} nodes of --split-column have no label and are left out of the split", unlabelled));
  }
  table.splits.push_back(std::move(split));
}

// Roles as far as the options say them.
std::vector<TableColumn> columns_of(const NodeLayout& layout) {
  std::vector<TableColumn> columns(layout.header.names.size());
  for (size_t column = 0; column < columns.size(); ++column) {
    columns[column].name = layout.header.names[column];
    columns[column].role = column == layout.id        ? "id"
                           : column == layout.split   ? "split"
                           : layout.is_target(column) ? "target"
                           : layout.dropped[column]   ? "dropped"
                                                      : "ignored";
  }
  return columns;
}

void check_purpose(const NodeLayout& layout, const LoadOptions& options) {
  if (!layout.targets.empty()) return;
  if (layout.split != NodeLayout::kNoColumn) {
    fail_usage(
        "--split-column says who trains, but there is nothing to learn; name the target with --target");
  }
  if (options.task != "auto")
    fail_usage("--task says what the target is, but there is none; name it with --target");
}

}  // namespace

NodeTable read_node_csv(std::string_view text, const std::string& label, const LoadOptions& options) {
  CsvScanner scanner(text, label);
  const NodeTableText given{text, NodeLayout(read_header(scanner), options),
                            MissingSpellings(options.missing), scanner.separator()};
  TableSummary summary = summarise(given);
  if (summary.rows == 0) fail(fmt::format("{}: has a header but no rows", label));
  std::vector<std::string> notes;
  take_columns(given, options, summary, notes);
  check_purpose(given.layout, options);

  NodeTable table{make_ids(given, summary.rows), {}, {}, {}, std::move(notes), columns_of(given.layout)};
  if (options.as_trained) {
    read_trained_features(given, summary, *options.as_trained, table);
  } else {
    read_node_features(given, summary, table);
  }
  if (!given.layout.targets.empty()) read_node_targets(given, summary, options, table);
  if (given.layout.split != NodeLayout::kNoColumn) read_split(given, table);
  return table;
}

}  // namespace qw
