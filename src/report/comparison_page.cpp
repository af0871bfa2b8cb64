#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/text.h"
#include "qw/report/report.h"
#include "report/comparison.h"
#include "report/page.h"
#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostSeeds = 30;  // that are drawn

// "+-" of terminals as pages write it.
std::string in_print(std::string text) {
  for (size_t at = text.find("+-"); at != std::string::npos; at = text.find("+-", at))
    text.replace(at, 2, "±");
  return text;
}

std::string label_of(const RunComparison& comparison, const RunSummary& run) {
  const bool only =
      std::count_if(comparison.runs.begin(), comparison.runs.end(), [&](const RunSummary& each) {
        return method_of(comparison, each) == method_of(comparison, run);
      }) == 1;
  return only ? method_of(comparison, run) : fmt::format("{} ({})", method_of(comparison, run), run.folder);
}

// How much better than the first; nothing where that cannot be shown.
double gain(const RunComparison& comparison, const ComparedRun& compared) {
  if (compared.result.verdict == Verdict::kUndecided) return 0;
  return (comparison.metric.higher_is_better() ? 1 : -1) * compared.result.difference;
}

void add_answer(Page& page, const RunComparison& comparison) {
  const ComparedRun& best = *std::max_element(
      comparison.others.begin(), comparison.others.end(),
      [&](const ComparedRun& a, const ComparedRun& b) { return gain(comparison, a) < gain(comparison, b); });
  page.lead(in_print(sentence(comparison, best)) + ".");
  for (const ComparedRun& other : comparison.others) {
    if (&other != &best) page.paragraph(in_print(sentence(comparison, other)) + ".");
    const std::string unpaired = unpaired_seeds(comparison, other);
    if (!unpaired.empty()) page.paragraph(unpaired + ".");
  }
  for (const std::string& warning : comparison_warnings(comparison)) page.warning(warning);
}

void add_differences(Page& page, const RunComparison& comparison) {
  const ComparedMetric& metric = comparison.metric;
  const std::string unit = metric.is_share() ? metric.name + ", points" : metric.name;
  Panel panel{.x_label = fmt::format("difference of {} {}", metric.part, unit),
              .kind = PanelKind::kIntervals};
  Series series{.name = "difference"};
  for (const ComparedRun& other : comparison.others) {
    panel.categories.push_back(label_of(comparison, comparison.runs[other.run]));
    series.y.push_back(metric.scale() * other.result.difference);
    series.spread.push_back(metric.scale() * other.result.half_width);
  }
  panel.series = {series};
  page.section("Comparison");
  page.chart({"Differences to " + label_of(comparison, comparison.runs.front()),
              fmt::format("Paired differences with their 95 % intervals. {} of 0 is better; an interval that "
                          "holds 0 shows no difference.",
                          metric.higher_is_better() ? "Right" : "Left"),
              {panel},
              1});
  PageTable table{
      "The first is what the others are compared with; p is that of Wilcoxon's signed-rank test", {}, {}};
  const std::vector<std::string> header = comparison_header(comparison);
  for (size_t i = 0; i < header.size(); ++i) table.columns.push_back({header[i], i > 2});
  for (const std::vector<std::string>& row : comparison_rows(comparison)) {
    table.rows.emplace_back();
    for (const std::string& cell : row) table.rows.back().push_back(in_print(cell));
  }
  page.table(table);
}

// The values of each seed, so that a reader sees what is paired. Seeds are large numbers: their places stand
// for them.
void add_seeds(Page& page, const RunComparison& comparison) {
  const ComparedMetric& metric = comparison.metric;
  const RunSummary& first = comparison.runs.front();
  if (first.seeds.size() < 2) return;
  const size_t drawn = std::min(kMostSeeds, first.seeds.size());
  Panel panel{.x_label = metric.part + " " + metric.name + (metric.is_share() ? ", %" : ""),
              .kind = PanelKind::kIntervals};
  for (size_t i = 0; i < drawn; ++i) panel.categories.push_back(fmt::format("run {}", i));
  for (const RunSummary& run : comparison.runs) {
    const MetricSummary& values = comparison.values(run);
    Series series{.name = label_of(comparison, run)};
    for (size_t i = 0; i < drawn; ++i) {
      const auto found = std::find(run.seeds.begin(), run.seeds.end(), first.seeds[i]);
      series.y.push_back(found == run.seeds.end() ? std::nan("")
                                                  : metric.scale() * values.runs[found - run.seeds.begin()]);
    }
    panel.series.push_back(std::move(series));
  }
  page.chart(
      {"Seed by seed",
       fmt::format(
           "What each training reached with the seed of each run of the first training: runs of one "
           "row are a pair.{}",
           drawn < first.seeds.size() ? fmt::format(" The first {} of {}.", drawn, first.seeds.size()) : ""),
       {panel},
       1});
}

void add_metrics(Page& page, const RunComparison& comparison) {
  const std::string& part = comparison.metric.part;
  PageTable table{
      fmt::format("Every metric of {} nodes, means over the seeds", part), {{"metric", false}}, {}};
  for (const RunSummary& run : comparison.runs) table.columns.push_back({label_of(comparison, run), true});
  for (const auto& [metric, first] : comparison.runs.front().parts.at(part)) {
    std::vector<std::string>& row = table.rows.emplace_back(1, metric);
    for (const RunSummary& run : comparison.runs) {
      const auto& all = run.parts.at(part);
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&, name = metric](const auto& each) { return each.first == name; });
      const bool has = found != all.end() && std::isfinite(found->second.mean);
      row.push_back(!has ? ""
                    : run.seeds.size() > 1 && std::isfinite(found->second.ci95)
                        ? interval_text(metric, found->second.mean, found->second.ci95)
                        : metric_text(metric, found->second.mean));
    }
  }
  page.table(table);
}

// Options by their names, from whatever section of config.json.
std::map<std::string, std::string> options_of(const RunSummary& run) {
  std::map<std::string, std::string> options;
  const Json json = read_json(std::filesystem::path(run.folder) / "summary.json");
  for (const auto& [section, fields] : json.at("config").items()) {
    if (section == "data" || !fields.is_object()) continue;
    for (const auto& [name, value] : fields.items())
      options[name] = value.is_string() ? value.get<std::string>() : json_text(value);
  }
  return options;
}

void add_options(Page& page, const RunComparison& comparison) {
  page.section("What differs");
  std::vector<std::map<std::string, std::string>> all;
  std::map<std::string, bool> names;
  for (const RunSummary& run : comparison.runs) {
    all.push_back(options_of(run));
    for (const auto& [name, value] : all.back()) names[name] = true;
  }
  PageTable table{"Options by which the trainings differ", {{"option", false}}, {}};
  for (const RunSummary& run : comparison.runs) table.columns.push_back({label_of(comparison, run), false});
  for (const auto& [name, unused] : names) {
    std::vector<std::string> row{name};
    for (const auto& options : all) row.push_back(options.contains(name) ? options.at(name) : "");
    const bool same =
        std::all_of(row.begin() + 1, row.end(), [&](const auto& cell) { return cell == row[1]; });
    if (!same && name != "command") table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return page.paragraph("All were trained with the same options.");
  page.table(table);
}

}  // namespace

std::string comparison_html(const std::vector<std::filesystem::path>& runs, const ReportOptions& options) {
  const RunComparison comparison = compare_runs(runs);
  const RunSummary& first = comparison.runs.front();
  Page page(!options.title.empty() ? options.title
                                   : fmt::format("{}: {} trainings compared", first.name, runs.size()));
  add_answer(page, comparison);
  add_differences(page, comparison);
  add_seeds(page, comparison);
  add_metrics(page, comparison);
  add_options(page, comparison);
  return page.html();
}

}  // namespace qw
