#include "data/formats/column_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {
namespace {

void count_number(NumberTally& tally, std::optional<double> number, std::string_view cell, int64_t line,
                  char mark) {
  if (!number) {
    if (tally.first_other.line == 0) tally.first_other = {std::string(cell), line};
    return;
  }
  ++tally.numbers;
  tally.whole = tally.whole && *number == std::trunc(*number);
  tally.sum += *number;
  tally.lowest.see(*number, -1);
  tally.highest.see(*number, 1);
  if (cell.find(mark) == std::string_view::npos) return;
  if (tally.marked++ == 0) tally.first_marked = {std::string(cell), line};
  tally.ambiguous += is_ambiguous(cell, mark);
}

// 99, 999, 9999 ...
bool is_of_nines(double number) {
  for (double nines = 99; nines < 1e9; nines = 10 * nines + 9) {
    if (number == nines) return true;
  }
  return false;
}

// Takes the columns of one table.
class ColumnTaker {
 public:
  ColumnTaker(const NodeTableText& table, const LoadOptions& options) : table_(table), options_(options) {}

  void find_commas(const TableSummary& summary, const std::vector<size_t>& columns) {
    for (const size_t column : columns) {
      const ColumnSummary& each = summary.columns[column];
      has_commas_ = has_commas_ || (reads_by_comma(each) && each.comma.marked > each.comma.ambiguous);
    }
  }

  void take(size_t column, ColumnSummary& summary) {
    const bool is_target = table_.layout.is_target(column);
    const TableColumn* trained = trained_column(column);
    const bool lenient =
        trained != nullptr ? trained->type == "categories" : is_target && options_.task == "classification";
    summary.kind = ColumnKind::kText;
    if (summary.present == 0) {
      summary.kind = ColumnKind::kEmpty;
    } else if (summary.truths == summary.present) {
      summary.kind = ColumnKind::kTruth;
    } else {
      summary.format = format_of(column, summary, lenient);
      if (summary.tally().numbers == summary.present) {
        summary.kind = ColumnKind::kNumber;
        if (trained != nullptr && trained->type == "0/1") check_truths(column, summary);
        if (guesses() && summary.format.decimal == ',') by_comma_.push_back(in_quotes(table_.name(column)));
        if (guesses() && table_.separator == ';' && all_ambiguous(summary.point)) doubtful_.push_back(column);
      } else if (trained != nullptr && !lenient) {
        refuse_trained(column, summary);
      } else if (!lenient && 2 * summary.number_like > summary.present) {
        refuse(column, summary, is_target);
      }
    }
  }

  // Between semicolons, where decimal marks are often commas, 1.234 may be a thousand.
  void say_points(const TableSummary& summary, std::vector<std::string>& notes) const {
    if (doubtful_.empty()) return;
    const size_t column = doubtful_.front();
    const std::string& cell = summary.columns[column].point.first_marked.cell;
    notes.push_back(
        fmt::format("{} of {}: the point in numbers such as {} was taken for a decimal mark; if it "
                    "separates thousands, write them without (--decimal . says that all is well)",
                    doubtful_.size() == 1 ? "column " + in_quotes(table_.name(column))
                                          : fmt::format("{} columns", doubtful_.size()),
                    table_.label(), in_quotes(cell)));
  }

  void say_commas(std::vector<std::string>& notes) const {
    if (by_comma_.empty()) return;
    const bool one = by_comma_.size() == 1;
    notes.push_back(
        fmt::format("{} of {}: the comma in {} numbers was taken for a decimal mark; --decimal . "
                    "says that it is none",
                    one ? "column " + by_comma_[0] : fmt::format("{} columns", by_comma_.size()),
                    table_.label(), one ? "its" : "their"));
  }

 private:
  // What a feature was in the training by which this table is read.
  const TableColumn* trained_column(size_t column) const {
    if (!options_.as_trained || table_.layout.is_target(column)) return nullptr;
    const std::vector<TableColumn>& columns = options_.as_trained->columns;
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const TableColumn& each) {
      return each.name == table_.name(column) && each.role == "feature";
    });
    return found == columns.end() ? nullptr : &*found;
  }

  [[noreturn]] void refuse_trained(size_t column, const ColumnSummary& summary) const {
    const CellPlace& place = summary.tally().first_other;
    const bool truths = trained_column(column)->type == "0/1";
    fail_at_line(
        table_.label(), place.line,
        fmt::format(
            "{} in column {} is {}, as all were in the training; mend it, or name it in --missing if it "
            "means no value{}",
            in_quotes(place.cell), in_quotes(table_.name(column)),
            truths ? "neither true nor false" : "not a number",
            truths ? "" : " (--decimal says which mark numbers have)"));
  }

  // Numbers where true and false were: 0 and 1 are the same.
  void check_truths(size_t column, const ColumnSummary& summary) const {
    for (const std::string& value : summary.values) {
      const double number = *summary.number(value);
      if (number == 0.0 || number == 1.0) continue;
      fail(fmt::format("{}: column {} has {}, where the training had only true and false", table_.label(),
                       in_quotes(table_.name(column)), in_quotes(value)));
    }
  }

  bool guesses() const { return options_.decimal == "auto"; }

  static bool all_ambiguous(const NumberTally& tally) {
    return tally.marked > 0 && tally.ambiguous == tally.marked;
  }

  // All of the column are numbers with a decimal comma, some have one, and the comma separates no fields.
  bool reads_by_comma(const ColumnSummary& summary) const {
    return guesses() && table_.separator != ',' && summary.comma.marked > 0 &&
           summary.comma.numbers == summary.present;
  }

  NumberFormat format_of(size_t column, const ColumnSummary& summary, bool lenient) const {
    if (!guesses()) return number_format(options_.decimal);
    if (reads_by_comma(summary)) {
      const bool certain = has_commas_ || summary.comma.marked > summary.comma.ambiguous;
      if (!certain && !lenient)
        refuse_ambiguous(column, summary.comma,
                         "say --decimal , for the first, or write the second without "
                         "separators");
      return {','};
    }
    const NumberTally& point = summary.point;
    if (has_commas_ && !lenient && point.numbers == summary.present && all_ambiguous(point)) {
      refuse_ambiguous(column, point,
                       "other columns have decimal commas: write it with a comma, or without "
                       "separators");
    }
    return {summary.comma.numbers > point.numbers && table_.separator != ',' ? ',' : '.'};
  }

  [[noreturn]] void refuse_ambiguous(size_t column, const NumberTally& tally, const char* advice) const {
    std::string point = tally.first_marked.cell, none = point;
    const size_t mark = point.find_first_of(".,");
    point[mark] = '.';
    none.erase(mark, 1);
    fail_at_line(table_.label(), tally.first_marked.line,
                 fmt::format("{} in column {} may be {} or {}; {}", in_quotes(tally.first_marked.cell),
                             in_quotes(table_.name(column)), point, none, advice));
  }

  [[noreturn]] void refuse(size_t column, const ColumnSummary& summary, bool is_target) const {
    const CellPlace& place = summary.tally().first_other;
    const std::string way_out =
        is_target ? "say --task classification"
                  : fmt::format("leave the column out with --drop {}", printable(table_.name(column)));
    if (const auto hint = number_hint(place.cell, summary.format)) {
      fail_at_line(table_.label(), place.line,
                   fmt::format("{} in column {} {}, or {}", in_quotes(place.cell),
                               in_quotes(table_.name(column)), *hint, way_out));
    }
    fail_at_line(
        table_.label(), place.line,
        fmt::format("{} is not a number, but most of column {} are; mend it, name it in --missing if "
                    "it means no value, or {}",
                    in_quotes(place.cell), in_quotes(table_.name(column)), way_out));
  }

  const NodeTableText& table_;
  const LoadOptions& options_;
  bool has_commas_ = false;  // some column certainly has decimal commas
  std::vector<std::string> by_comma_;
  std::vector<size_t> doubtful_;  // columns whose points may separate thousands
};

}  // namespace

void ColumnSummary::see(std::string_view cell, int64_t line, const MissingSpellings& spellings) {
  if (spellings.contains(cell)) {
    const auto known = missing.find(cell);
    if (known != missing.end()) {
      ++known->second;
    } else {
      missing.emplace(cell, 1);
    }
    return;
  }
  ++present;
  if (values.size() <= kMostCategories && !values.contains(cell)) values.emplace(cell);
  const auto by_point = parse_finite(cell, {'.'});
  const bool marked = cell.find_first_of(".,") != std::string_view::npos;
  const auto by_comma = marked ? parse_finite(cell, {','}) : by_point;
  count_number(point, by_point, cell, line, '.');
  count_number(comma, by_comma, cell, line, ',');
  if (by_point || by_comma || number_hint(cell, {'.'})) {
    ++number_like;
  } else if (const auto truth = parse_truth(cell)) {
    ++truths;
    trues += *truth;
  }
}

int64_t ColumnSummary::missing_count() const {
  return std::accumulate(missing.begin(), missing.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second; });
}

double ColumnSummary::mean() const {
  if (present == 0) return 0.0;
  return (kind == ColumnKind::kTruth ? static_cast<double>(trues) : tally().sum) /
         static_cast<double>(present);
}

std::optional<double> ColumnSummary::number(std::string_view cell) const {
  if (kind == ColumnKind::kNumber) return parse_finite(cell, format);
  const auto truth = parse_truth(cell);
  return truth ? std::optional(*truth ? 1.0 : 0.0) : std::nullopt;
}

void NumberEnd::see(double number, int sign) {
  if (last && number == *last) {
    ++count;
  } else if (!last || sign * number > sign * *last) {
    next = last;
    last = number;
    count = 1;
  } else if (!next || sign * number > sign * *next) {
    next = number;
  }
}

std::string ColumnSummary::number_for_unknown() const {
  const NumberEnd &low = tally().lowest, &high = tally().highest;
  for (const NumberEnd* end : {&low, &high}) {
    if (end->count < 2 || !end->next || !is_of_nines(std::abs(*end->last))) continue;
    const double others = end == &low ? *high.last - *low.next : *high.next - *low.last;
    const bool alone_below = end == &low && *low.last < 0 && *low.next >= 0;
    if (!alone_below && std::abs(*end->last - *end->next) <= others) continue;
    return fmt::format(
        "{0:g} in {1} rows, far from all other numbers; if it means unknown, say --missing={0:g}, and with "
        "it "
        "what else does, since that list replaces NA and the like",
        *end->last, end->count);
  }
  return "";
}

std::string ColumnSummary::missing_text() const {
  if (!has_missing_words()) return fmt::format("{} empty cells", missing_count());
  std::vector<std::string> parts;
  for (const auto& [spelling, count] : missing)
    parts.push_back(fmt::format("{} {}", count, spelling.empty() ? "empty" : in_quotes(spelling)));
  return fmt::format("{} missing cells ({})", missing_count(), join(parts, ", "));
}

TableSummary summarise(const NodeTableText& table) {
  TableSummary summary;
  summary.columns.resize(table.layout.header.names.size());
  for_rows(table, [&](const std::vector<std::string_view>& cells, int64_t line) {
    for (const auto* columns : {&table.layout.features, &table.layout.targets}) {
      for (const size_t column : *columns) summary.columns[column].see(cells[column], line, table.missing);
    }
    ++summary.rows;
  });
  return summary;
}

void take_columns(const NodeTableText& table, const LoadOptions& options, TableSummary& summary,
                  std::vector<std::string>& notes) {
  std::vector<size_t> columns = table.layout.features;
  columns.insert(columns.end(), table.layout.targets.begin(), table.layout.targets.end());
  ColumnTaker taker(table, options);
  taker.find_commas(summary, columns);
  for (const size_t column : columns) taker.take(column, summary.columns[column]);
  taker.say_commas(notes);
  taker.say_points(summary, notes);
}

}  // namespace qw
