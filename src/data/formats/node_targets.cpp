#include "data/formats/node_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/text.h"
#include "data/formats/node_csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kMostIntegerClasses = 100;
constexpr size_t kObviousClasses = 10;  // more numbers than this may as well be values
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The classes of a column in order, and the class of every cell that occurs.
struct ClassTable {
  std::vector<std::string> names;
  std::map<std::string, int32_t, std::less<>> class_of;
};

// Whole numbers without a mark or exponent keep their spelling, such as 01.
std::string name_of_number(double number, const std::vector<std::string>& spellings) {
  if (spellings.size() == 1 && spellings[0].find_first_of(".,eE") == std::string::npos) return spellings[0];
  return fmt::format("{}", number);
}

ClassTable classes_by_number(const ColumnSummary& summary) {
  std::map<double, std::vector<std::string>> spellings;
  for (const std::string& value : summary.values) spellings[*summary.number(value) + 0.0].push_back(value);
  ClassTable table;
  for (const auto& [number, cells] : spellings) {
    for (const std::string& cell : cells) table.class_of.emplace(cell, table.names.size());
    table.names.push_back(name_of_number(number, cells));
  }
  return table;
}

// True, TRUE and true are one class.
ClassTable classes_by_truth(const ColumnSummary& summary) {
  std::map<std::string, std::vector<std::string>> spellings;
  for (const std::string& value : summary.values) spellings[lower(value)].push_back(value);
  ClassTable table;
  for (const auto& [word, cells] : spellings) {
    for (const std::string& cell : cells) table.class_of.emplace(cell, table.names.size());
    table.names.push_back(cells.size() == 1 ? cells[0] : word);
  }
  return table;
}

ClassTable class_table(const ColumnSummary& summary) {
  if (summary.kind == ColumnKind::kNumber) return classes_by_number(summary);
  if (summary.kind == ColumnKind::kTruth) return classes_by_truth(summary);
  ClassTable table;
  for (const std::string& value : summary.values) {
    table.class_of.emplace(value, table.names.size());
    table.names.push_back(value);
  }
  return table;
}

// Reads the targets of one table.
class TargetReader {
 public:
  TargetReader(const NodeTableText& text, const TableSummary& summary, const LoadOptions& options,
               NodeTable& table)
      : text_(text), summary_(summary), options_(options), table_(table) {}

  void read() {
    for (const size_t column : text_.layout.targets) {
      const ColumnSummary& summary = summary_.columns[column];
      if (summary.present == 0 && options_.as_trained) return;  // all of it is to be predicted
      if (summary.present == 0) {
        fail(fmt::format("{}: column {}, the target, has no values", text_.label(),
                         in_quotes(text_.name(column))));
      }
      table_.columns[column].missing = summary.missing_count();
      if (summary.has_missing_words()) {
        table_.notes.push_back(
            fmt::format("{} has {}, which are nodes without a label; --missing says what is missing",
                        place(column), summary.missing_text()));
      }
    }
    if (text_.layout.targets.size() > 1) {
      read_several();
    } else if (const size_t column = text_.layout.targets.front(); is_classification(column)) {
      read_classes(column);
    } else {
      read_values();
    }
  }

 private:
  std::string place(size_t column) const {
    return fmt::format("column {} of {}, the target,", in_quotes(text_.name(column)), text_.label());
  }

  void say_guess(size_t column, const std::string& what, const char* taken_for, const char* task) {
    table_.notes.push_back(
        fmt::format("{} has {}, taken for {}; --task {} overrules it", place(column), what, taken_for, task));
  }

  // Says so where it is no more than a guess.
  bool is_classification(size_t column) {
    const ColumnSummary& summary = summary_.columns[column];
    if (options_.task != "auto") return options_.task == "classification";
    if (summary.kind != ColumnKind::kNumber) return true;
    const auto rows = static_cast<size_t>(summary.present);
    const bool countable = summary.values.size() <= kMostCategories;
    const size_t different = countable ? classes_by_number(summary).names.size() : summary.values.size();
    const bool repeats = countable && different <= std::max<size_t>(2, rows / 2);
    const std::string numbers = fmt::format("{} different {}numbers in {} rows", different,
                                            summary.tally().whole ? "whole " : "", rows);
    if (summary.tally().whole && repeats && different <= kMostIntegerClasses) {
      if (different > kObviousClasses) say_guess(column, numbers, "classes", "regression");
      return true;
    }
    const bool few = summary.tally().whole ? repeats || different <= kMostIntegerClasses
                                           : repeats && different <= kObviousClasses;
    if (few) say_guess(column, numbers, "values", "classification");
    return false;
  }

  void read_classes(size_t column) {
    const ColumnSummary& summary = summary_.columns[column];
    if (summary.values.size() > kMostCategories) {
      fail_usage(fmt::format(
          "{}: column {}, the target, has over {} classes; is it a number to predict (--task regression)?",
          text_.label(), in_quotes(text_.name(column)), kMostCategories));
    }
    ClassTable known = class_table(summary);
    std::vector<int32_t> classes;
    for_rows(text_, [&](const std::vector<std::string_view>& cells, int64_t) {
      const auto found = known.class_of.find(cells[column]);
      classes.push_back(found == known.class_of.end() ? -1 : found->second);
    });
    if (summary.kind == ColumnKind::kText) say_case(column, known.names);
    if (summary.kind == ColumnKind::kText) say_word_for_unknown(column, known.names, classes);
    if (summary.kind == ColumnKind::kNumber) say_negative(column, known.names, classes);
    table_.columns[column].type = "classes";
    table_.columns[column].values = known.names;
    table_.targets = class_targets(std::move(classes), std::move(known.names));
  }

  void say_case(size_t column, const std::vector<std::string>& names) {
    std::map<std::string, std::string> seen;
    for (const std::string& name : names) {
      const auto [other, is_new] = seen.emplace(lower(name), name);
      if (is_new) continue;
      table_.notes.push_back(
          fmt::format("{} has classes that differ in case only, such as {} and {}; mend the file, or "
                      "--missing counts one of them as unknown",
                      place(column), in_quotes(other->second), in_quotes(name)));
      return;
    }
  }

  // Beside 0, 1, 2, ... a -1 or a -999 is often a missing label; between -1 and 1 it is a class.
  void say_negative(size_t column, const std::vector<std::string>& names,
                    const std::vector<int32_t>& classes) {
    static constexpr std::array kNumbers{"-1", "-9", "-99", "-999", "-9999"};
    if (names.size() < 3 || (names[1] != "0" && names[1] != "1")) return;
    if (std::find(kNumbers.begin(), kNumbers.end(), names[0]) != kNumbers.end())
      say_unknown(column, names, classes, 0);
  }

  void say_word_for_unknown(size_t column, const std::vector<std::string>& names,
                            const std::vector<int32_t>& classes) {
    static constexpr std::array kWords{
        "unknown",   "missing", "none", "nil", "unlabeled", "unlabelled", "n.a.",     "tbd", "not known",
        "undefined", "-",       ".",    "-1",  "#ref!",     "#value!",    "no label", "?"};
    for (size_t c = 0; c < names.size() && names.size() > 2; ++c) {
      if (std::find(kWords.begin(), kWords.end(), lower(names[c])) != kWords.end())
        return say_unknown(column, names, classes, static_cast<int32_t>(c));
    }
  }

  void say_unknown(size_t column, const std::vector<std::string>& names, const std::vector<int32_t>& classes,
                   int32_t which) {
    const std::string& name = names[which];
    const auto count = std::count(classes.begin(), classes.end(), which);
    table_.notes.push_back(
        fmt::format("{} has the class {}, of {} node{}; if it means that the label is missing, say "
                    "--missing={}, and with "
                    "it what else does, since that list replaces NA and the like",
                    place(column), printable(name), count, count == 1 ? "" : "s", printable(name)));
  }

  void read_values() {
    std::vector<double> values;
    std::vector<std::string> names;
    for (const size_t column : text_.layout.targets) {
      names.push_back(text_.name(column));
      table_.columns[column].type = "number";
      const std::string doubtful = summary_.columns[column].number_for_unknown();
      if (!doubtful.empty()) table_.notes.push_back(fmt::format("{} has {}", place(column), doubtful));
    }
    for_rows(text_, [&](const std::vector<std::string_view>& cells, int64_t line) {
      for (const size_t column : text_.layout.targets) values.push_back(value(column, cells[column], line));
    });
    table_.targets = value_targets(std::move(values), std::move(names));
  }

  double value(size_t column, std::string_view cell, int64_t line) const {
    if (text_.missing.contains(cell)) return kNone;
    const ColumnSummary& summary = summary_.columns[column];
    const auto number =
        summary.kind == ColumnKind::kText ? parse_finite(cell, summary.format) : summary.number(cell);
    if (number) return *number;
    fail_at_line(text_.label(), line,
                 fmt::format("{} {} {}", printable(text_.name(column)), in_quotes(cell),
                             number_hint(cell, summary.format).value_or("is not a number")));
  }

  void read_several() {
    if (options_.task == "regression") return read_values();
    Targets targets;
    targets.task = Task::kMultiLabel;
    targets.width = static_cast<int64_t>(text_.layout.targets.size());
    for (const size_t column : text_.layout.targets) {
      targets.names.push_back(text_.name(column));
      table_.columns[column].type = "0/1";
    }
    for_rows(text_, [&](const std::vector<std::string_view>& cells, int64_t line) {
      for (const size_t column : text_.layout.targets)
        targets.values.push_back(label_bit(column, cells[column], line));
    });
    table_.targets = std::move(targets);
  }

  double label_bit(size_t column, std::string_view cell, int64_t line) const {
    if (text_.missing.contains(cell)) return kNone;
    if (const auto truth = parse_truth(cell)) return *truth ? 1.0 : 0.0;
    const auto number = parse_finite(cell, summary_.columns[column].format);
    if (number && (*number == 0.0 || *number == 1.0)) return *number;
    fail_at_line(text_.label(), line,
                 fmt::format("{} {} is none of 0, 1, true, false, yes and no, as each of several targets is; "
                             "--task regression learns numbers",
                             printable(text_.name(column)), in_quotes(cell)));
  }

  const NodeTableText& text_;
  const TableSummary& summary_;
  const LoadOptions& options_;
  NodeTable& table_;
};

}  // namespace

void read_node_targets(const NodeTableText& text, const TableSummary& summary, const LoadOptions& options,
                       NodeTable& table) {
  TargetReader(text, summary, options, table).read();
}

}  // namespace qw
