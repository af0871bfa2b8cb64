#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/metrics/metrics.h"
#include "report/histogram.h"
#include "report/quality_parts.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kMostPoints = 1000;  // of a cloud
constexpr int64_t kMostCharts = 4;    // of several values
constexpr int64_t kBins = 30;

// Test nodes whose value is known.
struct Column {
  std::string name;
  std::vector<double> truth, predicted, low, high;
};

Column column_of(const RunRecord& record, int64_t c) {
  const PredictedNodes& predicted = record.predicted;
  const Targets& targets = record.trained_on.targets;
  Column column{
      targets.names.empty() ? (targets.width == 1 ? "value" : fmt::format("value {}", c)) : targets.names[c],
      {},
      {},
      {},
      {}};
  for (size_t i = 0; i < predicted.nodes.size(); ++i) {
    const size_t at = i * targets.width + c;
    const double truth = targets.values[predicted.nodes[i] * targets.width + c];
    if (std::isnan(truth) || std::isnan(predicted.value[at])) continue;
    column.truth.push_back(truth);
    column.predicted.push_back(predicted.value[at]);
    if (predicted.low.empty() || predicted.high.empty()) continue;
    column.low.push_back(predicted.low[at]);
    column.high.push_back(predicted.high[at]);
  }
  return column;
}

Figure drawn(const Column& column) {
  const size_t stride = 1 + column.truth.size() / kMostPoints;
  Series cloud{.name = "test nodes"}, around{.name = "test nodes"};
  std::vector<double> residuals;
  for (size_t i = 0; i < column.truth.size(); ++i) {
    residuals.push_back(column.predicted[i] - column.truth[i]);
    if (i % stride != 0) continue;
    cloud.x.push_back(column.truth[i]);
    cloud.y.push_back(column.predicted[i]);
    around.x.push_back(column.predicted[i]);
    around.y.push_back(residuals.back());
  }
  Panel panel{.title = "Predicted against true",
              .x_label = "true",
              .y_label = "predicted",
              .kind = PanelKind::kPoints,
              .diagonal = true};
  panel.series = {std::move(cloud)};
  Panel errors{.title = "Errors",
               .x_label = "predicted minus true",
               .y_label = "test nodes",
               .kind = PanelKind::kHistogram};
  errors.series = {histogram("test nodes", residuals, kBins)};
  Panel fan{.title = "Errors by what is predicted",
            .x_label = "predicted",
            .y_label = "predicted minus true",
            .kind = PanelKind::kPoints};
  fan.series = {std::move(around)};
  return {column.name,
          stride == 1 ? std::string("Every test node. On the dashed line predictions are right.")
                      : fmt::format("One of {} test nodes is a point; all count in the histogram. On the "
                                    "dashed line predictions are right.",
                                    stride),
          {panel, errors, fan},
          2};
}

void add_intervals(Page& page, const std::vector<Column>& columns) {
  PageTable table{"Values, test nodes", {{"value", false}, {"nodes", true}}, {}};
  for (const MetricInfo& metric : value_metrics()) table.columns.push_back({metric.name, true});
  table.columns.insert(table.columns.end(), {{"interval", true}, {"hold the truth", true}});
  for (const Column& column : columns) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {column.name, with_thousands(static_cast<int64_t>(column.truth.size()))};
    for (const MetricInfo& metric : value_metrics())
      row.push_back(number_text(
          value_metric(metric.name, {.truth = column.truth, .predicted = column.predicted, .weights = {}})));
    double held = 0, width = 0;
    for (size_t i = 0; i < column.low.size(); ++i) {
      held += column.low[i] <= column.truth[i] && column.truth[i] <= column.high[i];
      width += (column.high[i] - column.low[i]) / 2;
    }
    const auto n = static_cast<double>(column.low.size());
    row.push_back(n == 0 ? "" : "± " + number_text(width / n));
    row.push_back(n == 0 ? "" : percent(held / n));
  }
  page.table(table);
}

}  // namespace

void add_values(Page& page, const RunRecord& record) {
  if (record.predicted.value.empty()) return;
  std::vector<Column> columns;
  for (int64_t c = 0; c < record.trained_on.targets.width; ++c) columns.push_back(column_of(record, c));
  const auto count = static_cast<int64_t>(columns.size());
  for (int64_t c = 0; c < std::min(kMostCharts, count); ++c) page.chart(drawn(columns[c]));
  if (count > kMostCharts)
    page.paragraph(fmt::format("Charts of the first {} of {} values.", kMostCharts, count));
  add_intervals(page, columns);
  const auto& coverage = record.summary.at("coverage");
  if (coverage.at("asked").is_number() && !record.predicted.low.empty())
    page.paragraph(
        fmt::format("Intervals are made to hold the truth of {} of nodes that are like those of "
                    "validation.",
                    percent(coverage.at("asked").get<double>())));
}

}  // namespace qw
