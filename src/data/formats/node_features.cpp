#include "data/formats/node_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data/formats/feature_plan.h"
#include "data/formats/node_csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kMostNotes = 5;  // of one kind; more of them become one line

// "2020-01-31", "31.1.2020", "1/31/20": digits in three parts, perhaps with a time after them.
bool looks_like_date(std::string_view cell) {
  const std::string_view day = cell.substr(0, cell.find_first_of(" T"));
  for (const char mark : {'-', '.', '/'}) {
    const std::vector<std::string> parts = split(day, mark);
    const auto is_part = [](const std::string& part) {
      return !part.empty() && part.size() <= 4 && part.find_first_not_of("0123456789") == std::string::npos;
    };
    if (parts.size() == 3 && std::all_of(parts.begin(), parts.end(), is_part)) return true;
  }
  return false;
}

// Text of which nearly every cell is another: names, addresses, dates.
bool has_too_many_values(const ColumnSummary& summary) {
  const auto rows = static_cast<size_t>(summary.present);
  return summary.values.size() > kMostCategories || (rows > 20 && summary.values.size() > rows / 2);
}

std::string count_of_values(const ColumnSummary& summary) {
  return summary.values.size() > kMostCategories ? fmt::format("over {}", kMostCategories)
                                                 : std::to_string(summary.values.size());
}

// Decides for each column and says so.
class FeaturePlanner {
 public:
  FeaturePlanner(const NodeTableText& text, NodeTable& table) : text_(text), table_(table) {}

  void add(size_t source, const ColumnSummary& summary) {
    TableColumn& column = table_.columns[source];
    column.role = "feature";
    column.missing = summary.missing_count();
    if (summary.kind == ColumnKind::kEmpty) {
      column.type = "empty";
      column.role = "dropped";
      left_out_.push_back(
          fmt::format("{} has no values and is left out; --missing says what is none", place(source)));
      return;
    }
    if (summary.kind == ColumnKind::kText) {
      column.type = "text";
      if (!takes_text(source, summary, column)) return;
      column.type = "categories";
      column.values.assign(summary.values.begin(), summary.values.end());
      plan_.add_text(source, text_.name(source), column.values);
    } else {
      column.type = summary.kind == ColumnKind::kTruth ? "0/1" : "number";
      column.fill = summary.mean();
      plan_.add_number(source, text_.name(source), *column.fill);
      const std::string doubtful = summary.number_for_unknown();
      if (!doubtful.empty()) doubtful_.push_back(fmt::format("{} has {}", place(source), doubtful));
    }
    say_missing(source, summary);
    if (summary.values.size() == 1 && summary.present > 1) {
      constant_.push_back(
          fmt::format("{} has one value only, {}, which tells no nodes apart; --drop {} leaves it out",
                      place(source), in_quotes(*summary.values.begin()), printable(text_.name(source))));
    }
  }

  FeaturePlan finish() {
    say(left_out_,
        "are left out, having no values or too many different texts; --features names those to use");
    say(missing_,
        "have missing cells, which became the mean of a number and no category of a text; "
        "--missing says what is missing");
    say(doubtful_,
        "have a number such as -999 in several rows, far from all others, which may mean unknown; "
        "--missing=-999,NA counts it so");
    say(constant_, "have one value only, which tells no nodes apart; --drop leaves them out");
    return std::move(plan_);
  }

 private:
  std::string place(size_t source) const {
    return fmt::format("column {} of {}", in_quotes(text_.name(source)), text_.label());
  }

  bool takes_text(size_t source, const ColumnSummary& summary, TableColumn& column) {
    if (!has_too_many_values(summary)) return true;
    const bool asked_for = text_.layout.asked_for[source];
    const bool dates = looks_like_date(*summary.values.begin());
    if (asked_for && summary.values.size() > kMostCategories) {
      fail_usage(
          fmt::format("{} is text with over {} different values, too many for --features; make numbers of it",
                      place(source), kMostCategories));
    }
    if (asked_for) return true;
    column.role = "dropped";
    left_out_.push_back(
        fmt::format("{} is {} with {} different values in {} rows and is left out{}; --features "
                    "names the columns to use",
                    place(source), dates ? "dates" : "text", count_of_values(summary), summary.present,
                    dates ? " (as numbers, such as years or days, they could be used)" : ""));
    return false;
  }

  void say_missing(size_t source, const ColumnSummary& summary) {
    if (summary.missing.empty()) return;
    const std::string became = summary.kind == ColumnKind::kText
                                   ? "have no category"
                                   : fmt::format("were filled with the mean, {:.6g}", summary.mean());
    const std::string option = summary.has_missing_words()
                                   ? "--missing says what is missing"
                                   : fmt::format("--drop {} leaves it out", printable(text_.name(source)));
    missing_.push_back(fmt::format("{}: {} {}; {}", place(source), summary.missing_text(), became, option));
  }

  void say(const std::vector<std::string>& lines, const char* in_short) {
    if (lines.size() > kMostNotes) {
      table_.notes.push_back(fmt::format("{} columns of {} {} (qw data info lists them)", lines.size(),
                                         text_.label(), in_short));
    } else {
      table_.notes.insert(table_.notes.end(), lines.begin(), lines.end());
    }
  }

  const NodeTableText& text_;
  NodeTable& table_;
  FeaturePlan plan_;
  std::vector<std::string> left_out_, missing_, doubtful_, constant_;
};

}  // namespace

void read_node_features(const NodeTableText& text, const TableSummary& summary, NodeTable& table) {
  FeaturePlanner planner(text, table);
  for (const size_t source : text.layout.features) planner.add(source, summary.columns[source]);
  PlannedCells cells;
  cells.number = [&](const FeatureColumn& column, std::string_view cell, int64_t) {
    return *summary.columns[column.source].number(cell);
  };
  table.features = read_planned(text, planner.finish(), cells);
}

}  // namespace qw
