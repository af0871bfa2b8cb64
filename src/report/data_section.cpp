#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/text.h"
#include "qw/graph/statistics.h"
#include "report/histogram.h"
#include "report/marks.h"
#include "report/quality_parts.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kMostClasses = 20;   // of a chart
constexpr size_t kMostColumns = 200;  // of the table's table
constexpr double kSkewed = 20;        // the most neighbours beside the median
constexpr int64_t kBins = 30;

using Parts = std::vector<std::pair<const char*, const std::vector<NodeId>*>>;

// As predictions.csv has them, which of qw fit is one split and not its folds.
Parts parts_of(const RunRecord& record) {
  const Split& split =
      record.predicted.split.train.empty() ? record.trained_on.splits.front() : record.predicted.split;
  return {{"train", &split.train}, {"validation", &split.val}, {"test", &split.test}};
}

bool has_label(const Targets& targets, NodeId node, int64_t c) {
  return targets.task == Task::kClassification ? targets.classes[node] == c
                                               : targets.values[node * targets.width + c] > 0.5;
}

// The largest classes or labels, the largest first.
std::vector<int64_t> largest_of(const Targets& targets) {
  std::vector<int64_t> counts(targets.width, 0), order(targets.width);
  for (NodeId node = 0; node < targets.size(); ++node) {
    if (targets.task == Task::kClassification) {
      if (targets.classes[node] >= 0) ++counts[targets.classes[node]];
    } else {
      for (int64_t c = 0; c < targets.width; ++c) counts[c] += has_label(targets, node, c);
    }
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  if (order.size() <= kMostClasses) return order;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return counts[a] > counts[b]; });
  order.resize(kMostClasses);
  return order;
}

std::string of_largest(const Targets& targets) {
  return static_cast<size_t>(targets.width) > kMostClasses
             ? fmt::format(" The {} largest of {}.", kMostClasses, targets.width)
             : "";
}

// Nodes of each class, or with each label, that train, validate and test.
Figure class_figure(const RunRecord& record, const std::vector<int64_t>& shown) {
  const Targets& targets = record.trained_on.targets;
  const bool of_classes = record.has_classes();
  Panel panel{.x_label = of_classes ? "class" : "label", .y_label = "nodes", .kind = PanelKind::kBars};
  for (const int64_t c : shown) panel.categories.push_back(record.class_name(c));
  for (const auto& [name, nodes] : parts_of(record)) {
    Series series{.name = name};
    for (const int64_t c : shown)
      series.y.push_back(static_cast<double>(std::count_if(
          nodes->begin(), nodes->end(), [&](NodeId node) { return has_label(targets, node, c); })));
    panel.series.push_back(std::move(series));
  }
  const bool several = !record.fit && record.trained_on.splits.size() > 1;
  return {of_classes ? "Labelled nodes by class" : "Nodes by label",
          fmt::format("How many nodes {} train, validate and test{}.{}",
                      of_classes ? "of each class" : "with each label", several ? " in the first run" : "",
                      of_largest(targets)),
          {panel},
          1};
}

Extent known_extent(const Targets& targets, int64_t c) {
  Extent all;
  for (NodeId node = 0; node < targets.size(); ++node) {
    const double value = targets.values[node * targets.width + c];
    if (std::isfinite(value)) all.include(value);
  }
  return all;
}

Figure value_figure(const RunRecord& record) {
  const Targets& targets = record.trained_on.targets;
  Figure figure{"Values by part", "How many nodes have which value.", {}, 2};
  constexpr int64_t kMostCharts = 4;
  for (int64_t c = 0; c < std::min(targets.width, kMostCharts); ++c) {
    Panel panel{.x_label = targets.names.empty() ? "value" : targets.names[c],
                .y_label = "nodes",
                .kind = PanelKind::kHistogram};
    const Extent all = known_extent(targets, c);
    for (const auto& [name, nodes] : parts_of(record)) {
      std::vector<double> values;
      for (const NodeId node : *nodes) values.push_back(targets.values[node * targets.width + c]);
      if (!values.empty() && !all.empty())
        panel.series.push_back(histogram_between(name, values, kBins, all.low, all.high));
    }
    figure.panels.push_back(std::move(panel));
  }
  if (targets.width > kMostCharts)
    figure.description += fmt::format(" The first {} of {} values.", kMostCharts, targets.width);
  return figure;
}

// Bins double, so that a few hubs do not hide all others.
Figure degree_figure(const Graph& graph, const DegreeStatistics& degrees) {
  Series series{.name = "nodes"};
  const int bins = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(degrees.largest))));
  for (int b = 0; b <= bins; ++b) series.x.push_back(std::ldexp(1.0, b));
  series.y.assign(bins, 0.0);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const size_t degree = graph.out().degree(node) + (graph.directed() ? graph.in().degree(node) : 0);
    if (degree > 0) ++series.y[std::bit_width(degree) - 1];
  }
  const bool skewed = static_cast<double>(degrees.largest) > kSkewed * std::max(1.0, degrees.median);
  Panel panel{.x_label = "neighbours",
              .y_label = "nodes",
              .kind = PanelKind::kHistogram,
              .log_x = true,
              .log_y = skewed};
  panel.series.push_back(std::move(series));
  return {"Neighbours of a node",
          fmt::format("How many nodes have how many neighbours; bins double in width.{}{}",
                      skewed ? " Both axes are logarithmic." : "",
                      degrees.isolated > 0 ? " Nodes without a neighbour are not drawn." : ""),
          {panel},
          1};
}

// [classes][classes]: ends of edges at one class that lead to another, of labelled nodes.
std::vector<std::vector<double>> links_of(const TrainedOn& data) {
  const Targets& targets = data.targets;
  std::vector<std::vector<double>> counts(targets.width, std::vector<double>(targets.width, 0.0));
  for (EdgeId edge = 0; edge < data.graph.num_edges(); ++edge) {
    const int32_t a = targets.classes[data.graph.heads()[edge]],
                  b = targets.classes[data.graph.tails()[edge]];
    if (a < 0 || b < 0) continue;
    ++counts[a][b];
    ++counts[b][a];
  }
  return counts;
}

// The share of edges inside classes, and what it would be if ends met by chance; NaN without labelled edges.
std::pair<double, double> homophily_of(const std::vector<std::vector<double>>& links) {
  double inside = 0, all = 0, chance = 0;
  for (size_t c = 0; c < links.size(); ++c) {
    inside += links[c][c];
    all += std::accumulate(links[c].begin(), links[c].end(), 0.0);
  }
  for (const std::vector<double>& row : links) {
    const double share = std::accumulate(row.begin(), row.end(), 0.0) / all;
    chance += share * share;
  }
  return {inside / all, chance};
}

// Of the edges at a class, which share leads to each class.
Figure linked_figure(const RunRecord& record, const std::vector<std::vector<double>>& links,
                     const std::vector<int64_t>& shown) {
  Panel panel{.x_label = "neighbour's class", .y_label = "class", .kind = PanelKind::kMatrix};
  for (const int64_t c : shown) panel.categories.push_back(record.class_name(c));
  for (const int64_t c : shown) {
    const double all = std::accumulate(links[c].begin(), links[c].end(), 0.0);
    Series& row = panel.series.emplace_back(Series{.name = record.class_name(c)});
    for (const int64_t other : shown) row.y.push_back(all > 0 ? 100 * links[c][other] / all : std::nan(""));
  }
  return {
      "Edges between classes",
      fmt::format("Of 100 labelled neighbours of a class, how many are of each class. Large numbers on the "
                  "diagonal: neighbours are alike.{}",
                  of_largest(record.trained_on.targets)),
      {panel},
      1};
}

void add_columns(Page& page, const RunRecord& record) {
  const auto& columns = record.schema.at("data").at("columns");
  if (columns.empty()) return;
  PageTable table{
      "Columns of the node table",
      {{"column", false}, {"used as", false}, {"type", false}, {"values", true}, {"missing", true}},
      {}};
  for (size_t k = 0; k < std::min(kMostColumns, columns.size()); ++k) {
    const TableColumn& column = record.trained_on.schema.columns.at(k);
    table.rows.push_back({column.name, column.role, column.type,
                          column.values.empty() ? "" : fmt::format("{}", column.values.size()),
                          columns[k].contains("missing") ? with_thousands(column.missing) : ""});
  }
  page.table(table);
  if (columns.size() > kMostColumns)
    page.paragraph(fmt::format("The first {} of {} columns.", kMostColumns, columns.size()));
}

}  // namespace

void add_data(Page& page, const RunRecord& record) {
  const TrainedOn& data = record.trained_on;
  page.section("Data");
  const DegreeStatistics degrees = degree_statistics(data.graph);
  const Components components = connected_components(data.graph);
  std::vector<int64_t> sizes(components.count, 0);
  for (const NodeId component : components.of_node) ++sizes[component];
  const int64_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::pair<std::string, std::string>> facts{
      {"nodes", with_thousands(data.graph.num_nodes())},
      {"edges", with_thousands(data.graph.num_edges()) + (data.graph.directed() ? ", directed" : "")},
      {"features", with_thousands(data.schema.features)},
      {"nodes with a label", with_thousands(data.targets.labelled())},
      {"mean number of neighbours", fmt::format("{:.3g}", degrees.mean)},
      {"most neighbours", with_thousands(degrees.largest)},
      {"nodes without a neighbour", with_thousands(degrees.isolated)},
      {"connected parts", with_thousands(components.count)},
      {"nodes of the largest part", with_thousands(largest)}};
  const bool has_links = record.has_classes() && data.graph.num_edges() > 0;
  const auto links = has_links ? links_of(data) : std::vector<std::vector<double>>();
  const auto [alike, chance] = homophily_of(links);
  if (std::isfinite(alike))
    facts.emplace_back("edges inside classes",
                       fmt::format("{}, by chance {}", percent(alike), percent(chance)));
  page.facts(facts);
  if (data.graph.num_edges() > 0) page.chart(degree_figure(data.graph, degrees));
  const Task task = data.targets.task;
  if (task == Task::kClassification || task == Task::kMultiLabel) {
    const std::vector<int64_t> shown = largest_of(data.targets);
    page.chart(class_figure(record, shown));
    if (std::isfinite(alike)) page.chart(linked_figure(record, links, shown));
  }
  if (task == Task::kRegression) page.chart(value_figure(record));
  add_columns(page, record);
}

}  // namespace qw
