#include "data/formats/node_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/text.h"
#include "data/formats/csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kNoColumn = static_cast<size_t>(-1);
constexpr size_t kMostCategories = 1000;
constexpr size_t kMostIntegerClasses = 100;

bool is_missing_number(std::string_view cell) {
  if (cell.empty()) return true;
  if (cell.size() > 4) return false;
  const std::string word = lower(cell);
  return word == "na" || word == "nan" || word == "null";
}

// What a first pass learns about a column.
struct ColumnSummary {
  bool numeric = true;
  bool integral = true;
  int64_t missing = 0;
  int64_t present = 0;
  double sum = 0;
  std::set<std::string, std::less<>> values;  // different cells, up to one more than kMostCategories
  int64_t numbers = 0;
  std::string first_text;  // the first cell that is no number, and where
  int64_t first_text_line = 0;

  void see(std::string_view cell, int64_t line) {
    if (!cell.empty() && values.size() <= kMostCategories && !values.contains(cell)) values.emplace(cell);
    if (is_missing_number(cell)) {
      ++missing;
      return;
    }
    ++present;
    const auto number = parse_number(cell);
    if (!number || !std::isfinite(*number)) {
      if (numeric) std::tie(first_text, first_text_line) = std::tuple(std::string(cell), line);
      numeric = false;
      return;
    }
    ++numbers;
    integral =
        integral && *number == std::trunc(*number) && cell.find_first_of(".eE") == std::string_view::npos;
    sum += *number;
  }

  // A column of numbers with a slip in it must not pass for a column of texts.
  void refuse_slips(const std::string& label, const std::string& column) const {
    if (numeric || 2 * numbers <= present) return;
    fail_at_line(
        label, first_text_line,
        fmt::format(
            "{} is not a number, but most of column {} are; mend it, or leave the column out with --drop",
            in_quotes(first_text), in_quotes(column)));
  }

  double mean() const { return present == 0 ? 0.0 : sum / static_cast<double>(present); }
};

// Which column serves for what.
struct Layout {
  CsvHeader header;
  size_t id = kNoColumn;
  size_t target = kNoColumn;
  size_t split = kNoColumn;
  std::vector<size_t> features;

  Layout(CsvHeader names, const LoadOptions& options) : header(std::move(names)) {
    const auto named = [&](const std::string& name, const char* option) {
      return name.empty() ? kNoColumn : header.column(name, option);
    };
    id = named(options.id, "--id");
    target = named(options.target, "--target");
    split = named(options.split_column, "--split-column");
    std::vector<bool> dropped(header.names.size(), !options.features.empty());
    for (const std::string& name : options.features) dropped[header.column(name, "--features")] = false;
    for (const std::string& name : options.drop) dropped[header.column(name, "--drop")] = true;
    for (const size_t special : {id, target, split}) {
      if (special != kNoColumn) dropped[special] = true;
    }
    for (size_t column = 0; column < dropped.size(); ++column) {
      if (!dropped[column]) features.push_back(column);
    }
  }
};

// Calls visit(cells, line) for every row, after checking its length.
template <class Visit>
void for_rows(std::string_view text, const Layout& layout, const Visit& visit) {
  CsvScanner scanner(text, layout.header.label);
  std::vector<std::string_view> cells;
  scanner.next(cells);
  if (cells.size() == 1) scanner.keep_blank_rows();
  while (scanner.next(cells)) {
    if (cells.size() != layout.header.names.size()) {
      fail_at_line(
          layout.header.label, scanner.line(),
          fmt::format("{} fields, expected {} as in the header", cells.size(), layout.header.names.size()));
    }
    for (std::string_view& cell : cells) cell = trim(cell);
    visit(cells, scanner.line());
  }
}

NodeIds make_ids(std::string_view text, const Layout& layout, int64_t rows) {
  if (layout.id == kNoColumn) return NodeIds::row_numbers(rows, layout.header.label);
  NameTable seen;
  std::vector<int64_t> line_of;
  for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t line) {
    const std::string_view name = cells[layout.id];
    if (name.empty()) fail_at_line(layout.header.label, line, "the node id is empty");
    const auto row = static_cast<size_t>(seen.find_or_add(name));
    if (row < line_of.size()) {
      fail_at_line(layout.header.label, line,
                   fmt::format("node id {} stands already in line {}", in_quotes(name), line_of[row]));
    }
    line_of.push_back(line);
  });
  return NodeIds::named(seen.take_names(), layout.header.label);
}

// One table column and the feature columns it becomes.
struct FeatureColumn {
  size_t source;
  int64_t first;
  bool numeric;
  double mean;
  std::map<std::string, int64_t, std::less<>> category;
};

std::vector<FeatureColumn> plan_features(const Layout& layout, const std::vector<ColumnSummary>& summaries,
                                         NodeTable& table) {
  std::vector<FeatureColumn> plan;
  int64_t next = 0;
  for (const size_t source : layout.features) {
    const ColumnSummary& summary = summaries[source];
    const std::string& name = layout.header.names[source];
    FeatureColumn column{source, next, summary.numeric, summary.mean(), {}};
    if (summary.numeric) {
      table.features.names.push_back(name);
      ++next;
      if (summary.missing > 0) {
        table.notes.push_back(fmt::format("column {} of {}: {} empty cells were filled with the mean, {:.6g}",
                                          in_quotes(name), layout.header.label, summary.missing,
                                          summary.mean()));
      }
    } else {
      const auto rows = static_cast<size_t>(summary.present);
      if (summary.values.size() > kMostCategories || (rows > 20 && summary.values.size() > rows / 2)) {
        fail_usage(
            fmt::format("{}: column {} is text with {} different values in {} rows, which makes no features; "
                        "leave it out with --drop {}",
                        layout.header.label, in_quotes(name),
                        summary.values.size() > kMostCategories ? fmt::format("over {}", kMostCategories)
                                                                : std::to_string(summary.values.size()),
                        rows, name));
      }
      for (const std::string& value : summary.values) {
        column.category.emplace(value, next++);
        table.features.names.push_back(fmt::format("{}={}", name, value));
      }
    }
    plan.push_back(std::move(column));
  }
  return plan;
}

void read_features(std::string_view text, const Layout& layout, const std::vector<ColumnSummary>& summaries,
                   int64_t rows, NodeTable& table) {
  const std::vector<FeatureColumn> plan = plan_features(layout, summaries, table);
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;
  std::vector<float> values;
  offsets.reserve(rows + 1);
  for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t line) {
    for (const FeatureColumn& column : plan) {
      const std::string_view cell = cells[column.source];
      if (!column.numeric) {
        if (cell.empty()) continue;
        indices.push_back(static_cast<int32_t>(column.category.find(cell)->second));
        values.push_back(1.0f);
        continue;
      }
      const double number = is_missing_number(cell) ? column.mean : *parse_number(cell);
      if (std::abs(number) > std::numeric_limits<float>::max()) {
        fail_at_line(layout.header.label, line,
                     fmt::format("{} is too large for a feature", in_quotes(cell)));
      }
      if (number == 0.0) continue;
      indices.push_back(static_cast<int32_t>(column.first));
      values.push_back(static_cast<float>(number));
    }
    offsets.push_back(static_cast<int64_t>(indices.size()));
  });
  std::vector<std::string> names = std::move(table.features.names);
  const auto columns = static_cast<int64_t>(names.size());
  table.features = features_from_rows(columns, std::move(offsets), std::move(indices), std::move(values));
  table.features.names = std::move(names);
}

bool is_classification(const ColumnSummary& summary, const std::string& task) {
  if (task == "classification") return true;
  if (task == "regression") return false;
  if (!summary.numeric) return true;
  const auto rows = static_cast<size_t>(summary.present);
  return summary.integral &&
         summary.values.size() <= std::min(kMostIntegerClasses, std::max<size_t>(2, rows / 2));
}

// Class names in order: numerically when all are numbers, alphabetically otherwise.
std::vector<std::string> class_names(const ColumnSummary& summary) {
  std::vector<std::string> names;
  for (const std::string& value : summary.values) {
    if (!summary.numeric || !is_missing_number(value)) names.push_back(value);
  }
  if (summary.numeric) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *parse_number(a) < *parse_number(b);
    });
  }
  return names;
}

void read_target(std::string_view text, const Layout& layout, const ColumnSummary& summary,
                 const std::string& task, NodeTable& table) {
  const std::string& column = layout.header.names[layout.target];
  if (summary.present == 0) {
    fail(fmt::format("{}: column {}, the target, has no values", layout.header.label, in_quotes(column)));
  }
  if (is_classification(summary, task)) {
    if (summary.values.size() > kMostCategories) {
      fail_usage(fmt::format(
          "{}: column {}, the target, has over {} classes; is it a number to predict (--task regression)?",
          layout.header.label, in_quotes(column), kMostCategories));
    }
    std::vector<std::string> names = class_names(summary);
    std::map<std::string, int32_t, std::less<>> class_of;
    for (const std::string& name : names) class_of.emplace(name, static_cast<int32_t>(class_of.size()));
    std::vector<int32_t> classes;
    for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t) {
      const auto found = class_of.find(cells[layout.target]);
      classes.push_back(found == class_of.end() ? -1 : found->second);
    });
    table.targets = class_targets(std::move(classes), std::move(names));
    return;
  }
  std::vector<double> values;
  for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t line) {
    const std::string_view cell = cells[layout.target];
    const auto number =
        is_missing_number(cell) ? std::numeric_limits<double>::quiet_NaN() : parse_number(cell);
    if (!number || std::isinf(*number)) {
      fail_at_line(layout.header.label, line,
                   fmt::format("{} {} is not a number", printable(column), in_quotes(cell)));
    }
    values.push_back(*number);
  });
  table.targets = value_targets(std::move(values), {column});
}

void read_split(std::string_view text, const Layout& layout, NodeTable& table) {
  Split split;
  NodeId node = 0;
  int64_t unlabelled = 0;
  for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t line) {
    const std::string part = lower(cells[layout.split]);
    std::vector<NodeId>* members = part == "train"                                            ? &split.train
                                   : part == "val" || part == "valid" || part == "validation" ? &split.val
                                   : part == "test"                                           ? &split.test
                                                                                              : nullptr;
    if (members == nullptr && !part.empty()) {
      fail_at_line(
          layout.header.label, line,
          fmt::format("split {} is none of train, val, test or empty", in_quotes(cells[layout.split])));
    }
    const bool labelled = table.targets.task == Task::kNone || table.targets.known(node);
    if (members != nullptr && labelled) members->push_back(node);
    unlabelled += members != nullptr && !labelled;
    ++node;
  });
  if (unlabelled > 0) {
    table.notes.push_back(
        fmt::format("{} nodes of the split have no label and are left out of it", unlabelled));
  }
  table.splits.push_back(std::move(split));
}

}  // namespace

NodeTable read_node_csv(std::string_view text, const std::string& label, const LoadOptions& options) {
  CsvScanner scanner(text, label);
  const Layout layout(read_header(scanner), options);
  std::vector<ColumnSummary> summaries(layout.header.names.size());
  int64_t rows = 0;
  for_rows(text, layout, [&](const std::vector<std::string_view>& cells, int64_t line) {
    for (const size_t column : layout.features) summaries[column].see(cells[column], line);
    if (layout.target != kNoColumn) summaries[layout.target].see(cells[layout.target], line);
    ++rows;
  });
  if (rows == 0) fail(fmt::format("{}: has a header but no rows", label));

  for (const size_t column : layout.features)
    summaries[column].refuse_slips(label, layout.header.names[column]);
  if (layout.target != kNoColumn && options.task == "auto") {
    summaries[layout.target].refuse_slips(label, layout.header.names[layout.target]);
  }
  if (layout.split != kNoColumn && layout.target == kNoColumn) {
    fail_usage(
        "--split-column says who trains, but there is nothing to learn; name the target with --target");
  }

  NodeTable table{make_ids(text, layout, rows), {}, {}, {}, {}};
  read_features(text, layout, summaries, rows, table);
  if (layout.target != kNoColumn) read_target(text, layout, summaries[layout.target], options.task, table);
  if (layout.split != kNoColumn) read_split(text, layout, table);
  return table;
}

}  // namespace qw
