#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "qw/metrics/metrics.h"
#include "report/quality_parts.h"
#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, const char*> kParts[] = {
    {"train", "train"}, {"val", "validation"}, {"test", "test"}};

// Of parts without nodes all is unknown.
bool has_numbers(const Json& part) {
  return std::any_of(part.begin(), part.end(),
                     [](const Json& metric) { return metric.at("mean").is_number(); });
}

std::string cell(const Json& part, const std::string& metric) {
  if (!part.contains(metric) || !part.at(metric).at("mean").is_number()) return "";
  const double mean = part.at(metric).at("mean").get<double>();
  const Json& interval = part.at(metric).at("ci95");
  const bool has_interval = part.at(metric).at("runs").size() > 1 && interval.is_number();
  return has_interval ? interval_text(metric, mean, interval.get<double>()) : metric_text(metric, mean);
}

void add_metrics(Page& page, const RunRecord& record) {
  const bool several = record.trained_on.splits.size() > 1 && !record.fit;
  PageTable table{several      ? "Means over the runs, with 95 % intervals"
                  : record.fit ? "Metrics of the ensemble"
                               : "Metrics",
                  {{"metric", false}},
                  {}};
  std::vector<const Json*> parts;
  const auto add = [&](const Json& part, const std::string& name) {
    if (!has_numbers(part)) return;
    parts.push_back(&part);
    table.columns.push_back({name, true});
  };
  const Json& summary = record.summary;
  for (const auto& [part, name] : kParts) add(summary.at(part), name);
  for (const auto& [name, values] : summary.at("baselines").items()) add(values, "test, " + name);
  if (parts.empty()) return;
  for (const auto& [metric, values] : parts.front()->items()) {
    std::vector<std::string>& row = table.rows.emplace_back(1, metric);
    for (const Json* part : parts) row.push_back(cell(*part, metric));
  }
  page.table(table);
}

}  // namespace

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : ""; }

std::string number_text(double value) {
  constexpr double kLargest = 1e12;
  const double size = std::fabs(value);
  if (!(size >= 1000 && size < kLargest)) return fmt::format("{:.4g}", value + 0.0);  // never -0
  const double last = std::pow(10.0, std::floor(std::log10(size)) - 3);
  return with_thousands(std::llround(std::round(value / last) * last));
}

std::string interval_text(const std::string& metric, double value, double half_width) {
  const MetricInfo* info = metric_named(metric);
  if (info != nullptr && info->is_share)
    return fmt::format("{:.1f} ± {:.1f} %", 100 * value, 100 * half_width);
  constexpr double kRounding = 1e-9;  // of the value: no spread at all
  if (half_width <= kRounding * std::fabs(value)) return metric_text(metric, value) + " ± 0";
  if (half_width >= 1000) return number_text(value) + " ± " + number_text(half_width);
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(half_width))), 0, 6);
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, half_width, decimals);
}

std::string metric_text(const std::string& metric, double value) {
  const MetricInfo* info = metric_named(metric);
  return info != nullptr && info->is_share ? percent(value) : number_text(value);
}

void add_quality(Page& page, const RunRecord& record) {
  page.section("Quality");
  add_metrics(page, record);
  if (record.predicted.nodes.empty())
    return page.paragraph("No node was held out to test, so there are no charts of quality.");
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
