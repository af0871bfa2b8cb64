#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "qw/metrics/metrics.h"
#include "report/quality_parts.h"
#include "report/sections.h"

namespace qw {
namespace {

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
    return several ? interval_text(metric, part.at(metric).at("mean").get<double>(), interval.get<double>())
                   : mean;
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

}  // namespace

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : ""; }

std::string interval_text(const std::string& metric, double value, double half_width) {
  const MetricInfo* info = metric_named(metric);
  if (info != nullptr && info->is_share)
    return fmt::format("{:.1f} ± {:.1f} %", 100 * value, 100 * half_width);
  constexpr double kRounding = 1e-9;  // of the value: no spread at all
  if (half_width <= kRounding * std::fabs(value)) return metric_text(metric, value) + " ± 0";
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(half_width))), 0, 6);
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, half_width, decimals);
}

std::string metric_text(const std::string& metric, double value) {
  const MetricInfo* info = metric_named(metric);
  return info != nullptr && info->is_share ? percent(value) : fmt::format("{:.4g}", value);
}

void add_quality(Page& page, const RunRecord& record) {
  page.section("Quality");
  add_metrics(page, record);
  if (record.predicted.nodes.empty()) return;
  const Task task = record.trained_on.targets.task;
  if (!record.fit && record.trained_on.splits.size() > 1)
    page.paragraph("The charts below show the first run, the table above all of them.");
  if (task == Task::kRegression) add_values(page, record);
  if (task == Task::kClassification) add_confusion(page, record);
  if (task == Task::kMultiLabel) add_labels(page, record);
  add_curves(page, record);
  if (task != Task::kRegression) add_reliability(page, record);
  add_sets(page, record);
  add_groups(page, record);
  if (task == Task::kClassification) add_wrong_nodes(page, record);
}

}  // namespace qw
