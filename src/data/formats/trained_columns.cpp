#include "data/formats/trained_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "data/formats/feature_plan.h"
#include "data/formats/node_csv.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr size_t kMostNamed = 5;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> with_role(const DataSchema& schema, const std::string& role) {
  std::vector<std::string> names;
  for (const TableColumn& column : schema.columns) {
    if (column.role == role) names.push_back(column.name);
  }
  return names;
}

// "column 'a'", "columns 'a', 'b'", "columns 'a', ..., 'e' and 7 more".
std::string in_words(const std::vector<std::string>& columns) {
  std::vector<std::string> quoted;
  for (size_t k = 0; k < std::min(columns.size(), kMostNamed); ++k) quoted.push_back(in_quotes(columns[k]));
  return fmt::format(
      "{} {}{}", columns.size() == 1 ? "column" : "columns", join(quoted, ", "),
      columns.size() > kMostNamed ? fmt::format(" and {} more", columns.size() - kMostNamed) : "");
}

// What was seen of one column.
struct Surprises {
  int64_t unseen = 0, filled = 0;
  std::string example;
};

void say_surprises(const NodeTableText& text, size_t source, const TableColumn& column, const Surprises& seen,
                   std::vector<std::string>& notes) {
  const std::string place = fmt::format("column {} of {}", in_quotes(text.name(source)), text.label());
  if (seen.unseen > 0) {
    notes.push_back(fmt::format(
        "{}: {} {} a category that the training did not know, such as {}: they count as none", place,
        seen.unseen, seen.unseen == 1 ? "cell has" : "cells have", in_quotes(seen.example)));
  }
  if (seen.filled > 0) {
    notes.push_back(fmt::format("{}: {} missing {} filled with the training's mean, {:.6g}", place,
                                seen.filled, seen.filled == 1 ? "cell was" : "cells were", *column.fill));
  }
}

}  // namespace

void use_trained_columns(const NodeText& nodes, LoadOptions& options, std::vector<std::string>& notes) {
  const DataSchema& schema = *options.as_trained;
  const std::vector<std::string> names = header_names(nodes);
  const std::vector<std::string> features = with_role(schema, "feature"), ids = with_role(schema, "id"),
                                 targets = with_role(schema, "target");
  if (options.id.empty() && !ids.empty()) options.id = ids.front();
  const auto is_there = [&](const std::string& name) { return contains(names, name); };
  const auto targets_there = std::count_if(targets.begin(), targets.end(), is_there);
  if (options.target.empty() && targets_there == std::ssize(targets)) {
    options.target = join(targets, ",");
  } else if (options.target.empty() && targets_there > 0) {
    notes.push_back(fmt::format("{}: {} of the {} targets of the training are there: labels are left out",
                                nodes.label, targets_there, targets.size()));
  }
  std::vector<std::string> missing, extra;
  std::copy_if(features.begin(), features.end(), std::back_inserter(missing),
               [&](const std::string& name) { return !is_there(name); });
  if (!missing.empty()) {
    const bool one = missing.size() == 1;
    fail(fmt::format("{}: there {} no {}, which the training has as {}", nodes.label, one ? "is" : "are",
                     in_words(missing), one ? "a feature" : "features"));
  }
  options.features = features;
  options.drop.clear();
  for (const std::string& name : names) {
    if (name == options.id || is_target(name, options) || contains(features, name)) continue;
    options.drop.push_back(name);
    const bool known = std::any_of(schema.columns.begin(), schema.columns.end(),
                                   [&](const TableColumn& column) { return column.name == name; });
    if (!known) extra.push_back(name);
  }
  if (!extra.empty()) {
    notes.push_back(fmt::format("{}: {} {} left out: the training did not have {}", nodes.label,
                                in_words(extra), extra.size() == 1 ? "is" : "are",
                                extra.size() == 1 ? "it" : "them"));
  }
  options.split_column.clear();
  const bool several = options.target.find(',') != std::string::npos && schema.task == Task::kMultiLabel;
  options.task = options.target.empty() || several ? "auto"
                 : schema.has_classes              ? "classification"
                                                   : "regression";
}

void read_trained_features(const NodeTableText& text, const TableSummary& summary, const DataSchema& schema,
                           NodeTable& table) {
  FeaturePlan plan;
  std::map<size_t, const TableColumn*> trained;
  std::map<size_t, Surprises> surprises;
  for (const TableColumn& column : schema.columns) {
    if (column.role != "feature") continue;
    const size_t source = text.layout.header.column(column.name, "--nodes");
    trained[source] = &column;
    table.columns[source].role = "feature";
    table.columns[source].type = column.type;
    table.columns[source].values = column.values;
    table.columns[source].fill = column.fill;
    table.columns[source].missing = summary.columns[source].missing_count();
    if (column.type == "categories") {
      plan.add_text(source, column.name, column.values);
    } else {
      plan.add_number(source, column.name, column.fill.value_or(0.0));
      surprises[source].filled = table.columns[source].missing;
    }
  }
  PlannedCells cells;
  cells.number = [&](const FeatureColumn& column, std::string_view cell, int64_t) {
    return *summary.columns[column.source].number(cell);
  };
  cells.unseen = [&](const FeatureColumn& column, std::string_view cell) {
    Surprises& seen = surprises[column.source];
    if (seen.unseen++ == 0) seen.example = cell;
  };
  table.features = read_planned(text, plan, cells);
  for (const auto& [source, seen] : surprises)
    say_surprises(text, source, *trained[source], seen, table.notes);
}

}  // namespace qw
