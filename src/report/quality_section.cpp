#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/histogram.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kMostClasses = 20;
constexpr int kBins = 10;
constexpr double kFewestInBin = 5;    // nodes: a share of fewer says nothing
constexpr size_t kMostPoints = 2000;  // of a cloud
constexpr size_t kExamples = 15;      // wrong nodes that are named

double share_right(const PredictedNodes& nodes) {
  double right = 0;
  for (size_t i = 0; i < nodes.ids.size(); ++i) right += nodes.predicted[i] == nodes.labels[i];
  return right / static_cast<double>(nodes.ids.size());
}

void add_metrics(Page& page, const RunRecord& record) {
  PageTable table{"Means over the runs, with 95 % intervals", {{"metric", false}}, {}};
  const auto& summary = record.summary;
  for (const char* part : {"train", "val", "test"}) {
    if (summary.contains(part) && !summary.at(part).empty()) table.columns.push_back({part, true});
  }
  std::vector<std::string> baselines;
  for (const auto& [name, values] : summary.at("baselines").items()) {
    if (values.empty()) continue;
    baselines.push_back(name);
    table.columns.push_back({"test of " + name, true});
  }
  const auto cell = [&](const nlohmann::ordered_json& part, const std::string& metric) -> std::string {
    if (!part.contains(metric) || !part.at(metric).at("mean").is_number()) return "";
    const std::string mean = metric_text(metric, part.at(metric).at("mean").get<double>());
    const auto& interval = part.at(metric).at("ci95");
    const bool several = part.at(metric).at("runs").size() > 1 && interval.is_number();
    return several ? fmt::format("{} ± {}", mean, metric_text(metric, interval.get<double>())) : mean;
  };
  for (const auto& [metric, values] : summary.at("test").items()) {
    std::vector<std::string>& row = table.rows.emplace_back(1, metric);
    for (const char* part : {"train", "val", "test"}) {
      if (summary.contains(part) && !summary.at(part).empty()) row.push_back(cell(summary.at(part), metric));
    }
    for (const std::string& name : baselines) row.push_back(cell(summary.at("baselines").at(name), metric));
  }
  if (!table.rows.empty()) page.table(table);
}

void add_confusion(Page& page, const RunRecord& record) {
  const PredictedNodes& nodes = record.predicted;
  const auto classes = static_cast<size_t>(record.trained_on.targets.width);
  if (classes > kMostClasses) return;
  std::map<std::string, size_t> place;
  Panel panel{.x_label = "predicted", .y_label = "true", .kind = PanelKind::kMatrix};
  for (size_t c = 0; c < classes; ++c) {
    panel.categories.push_back(record.class_name(static_cast<int64_t>(c)));
    place[panel.categories.back()] = c;
  }
  for (const std::string& name : panel.categories)
    panel.series.push_back({.name = name, .y = std::vector<double>(classes, 0.0)});
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    const auto truth = place.find(nodes.labels[i]), said = place.find(nodes.predicted[i]);
    if (truth != place.end() && said != place.end()) ++panel.series[truth->second].y[said->second];
  }
  page.chart(
      {"What is taken for what", "Test nodes by their class and the class that is predicted.", {panel}, 1});
}

void add_reliability(Page& page, const PredictedNodes& nodes) {
  std::vector<double> sum(kBins, 0.0), right(kBins, 0.0), count(kBins, 0.0);
  for (size_t i = 0; i < nodes.confidence.size(); ++i) {
    const int bin = std::clamp(static_cast<int>(nodes.confidence[i] * kBins), 0, kBins - 1);
    sum[bin] += nodes.confidence[i];
    right[bin] += nodes.predicted[i] == nodes.labels[i];
    ++count[bin];
  }
  Panel panel{.title = "Are they right as often as they say?",
              .x_label = "confidence",
              .y_label = "share that is right",
              .spread_style = SpreadStyle::kWhiskers,
              .diagonal = true};
  Series line{.name = "test nodes"};
  Panel sizes{.title = "How sure are they?",
              .x_label = "confidence",
              .y_label = "test nodes",
              .kind = PanelKind::kHistogram};
  Series bars{.name = "test nodes"};
  bars.x.push_back(0);
  for (int bin = 0; bin < kBins; ++bin) {
    bars.x.push_back((bin + 1.0) / kBins);
    bars.y.push_back(count[bin]);
    if (count[bin] < kFewestInBin) continue;
    const double share = right[bin] / count[bin];
    line.x.push_back(sum[bin] / count[bin]);
    line.y.push_back(share);
    line.spread.push_back(1.96 * std::sqrt(share * (1 - share) / count[bin]));
  }
  panel.series = {line};
  sizes.series = {bars};
  page.chart({"Confidence",
              "On the dashed line a confidence of 0.8 is right in 8 of 10 cases; below it, "
              "predictions are too sure of themselves.",
              {panel, sizes},
              2});
}

void add_wrong_nodes(Page& page, const PredictedNodes& nodes) {
  std::vector<size_t> wrong;
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    if (nodes.predicted[i] != nodes.labels[i]) wrong.push_back(i);
  }
  if (wrong.empty() || nodes.confidence.empty()) return;
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](size_t a, size_t b) { return nodes.confidence[a] > nodes.confidence[b]; });
  PageTable table{fmt::format("Wrong and most sure of it, {} of {} test nodes that are wrong",
                              std::min(kExamples, wrong.size()), wrong.size()),
                  {{"node", false}, {"predicted", false}, {"true", false}, {"confidence", true}},
                  {}};
  for (size_t k = 0; k < std::min(kExamples, wrong.size()); ++k) {
    const size_t i = wrong[k];
    table.rows.push_back(
        {nodes.ids[i], nodes.predicted[i], nodes.labels[i], fmt::format("{:.3f}", nodes.confidence[i])});
  }
  page.table(table);
}

void add_values(Page& page, const PredictedNodes& nodes) {
  Series cloud{.name = "test nodes"};
  const size_t stride = 1 + nodes.ids.size() / kMostPoints;
  std::vector<double> residuals;
  for (size_t i = 0; i < nodes.ids.size(); ++i) {
    const auto truth = parse_number(nodes.labels[i]), said = parse_number(nodes.predicted[i]);
    if (!truth || !said) continue;
    residuals.push_back(*said - *truth);
    if (i % stride != 0) continue;
    cloud.x.push_back(*truth);
    cloud.y.push_back(*said);
  }
  if (residuals.empty()) return;
  Panel panel{.title = "Predicted against true",
              .x_label = "true",
              .y_label = "predicted",
              .kind = PanelKind::kPoints,
              .diagonal = true};
  panel.series = {cloud};
  Panel errors{.title = "Errors",
               .x_label = "predicted minus true",
               .y_label = "test nodes",
               .kind = PanelKind::kHistogram};
  errors.series = {histogram("test nodes", residuals, 3 * kBins)};
  page.chart({"Values",
              stride == 1
                  ? std::string("Every test node.")
                  : fmt::format("One of {} test nodes is drawn on the left, all count on the right.", stride),
              {panel, errors},
              2});
}

}  // namespace

std::string metric_text(const std::string& metric, double value) {
  const bool share = metric == "accuracy" || metric == "balanced_accuracy" || metric.ends_with("_f1");
  return share ? fmt::format("{:.1f} %", 100 * value) : fmt::format("{:.4g}", value);
}

void add_quality(Page& page, const RunRecord& record) {
  page.section("Quality");
  add_metrics(page, record);
  const PredictedNodes& nodes = record.predicted;
  if (nodes.ids.empty()) return;
  const bool several = !record.fit && record.trained_on.splits.size() > 1;
  if (!record.has_classes()) {
    if (record.trained_on.targets.task == Task::kRegression) add_values(page, nodes);
    return;
  }
  if (several) page.paragraph("The charts below show the first run, the table above all of them.");
  add_confusion(page, record);
  if (!nodes.confidence.empty()) add_reliability(page, nodes);
  if (!nodes.set_size.empty()) {
    double size = 0;
    for (const double each : nodes.set_size) size += each / static_cast<double>(nodes.set_size.size());
    page.paragraph(fmt::format(
        "{:.1f} % of {} test nodes are right. Sets made to hold the truth have {:.2f} classes on average.",
        100 * share_right(nodes), with_thousands(static_cast<int64_t>(nodes.ids.size())), size));
  }
  add_wrong_nodes(page, nodes);
}

}  // namespace qw
