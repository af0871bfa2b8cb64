#include "report/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/text.h"
#include "report/page.h"
#include "report/sections.h"

namespace qw {
namespace {

constexpr size_t kMostGroups = 4;
constexpr size_t kMostLines = 200;    // across parallel axes
constexpr size_t kMostConfigs = 20;   // in a table
constexpr size_t kMostSearches = 12;  // that are drawn

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// All values as numbers, or nothing.
std::optional<std::vector<double>> as_numbers(std::span<const std::string> values) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    const std::optional<double> number = parse_number(value);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// The group of each value: values that are equal share one.
std::vector<size_t> groups_of(std::span<const std::string> values) {
  std::vector<size_t> groups(values.size());
  std::map<std::string, size_t> distinct;
  for (size_t i = 0; i < values.size(); ++i)
    groups[i] = distinct.try_emplace(values[i], distinct.size()).first->second;
  const auto numbers = as_numbers(values);
  if (distinct.size() <= kMostGroups || !numbers) return groups;
  std::vector<double> sorted = *numbers;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto below = std::lower_bound(sorted.begin(), sorted.end(), (*numbers)[i]) - sorted.begin();
    groups[i] = below * kMostGroups / sorted.size();
  }
  return groups;
}

Series axis_of(const std::string& name, const std::vector<std::string>& values) {
  if (const auto numbers = as_numbers(values)) return {.name = name, .y = *numbers};
  Series axis{.name = name};
  axis.names = values;
  std::sort(axis.names.begin(), axis.names.end());
  axis.names.erase(std::unique(axis.names.begin(), axis.names.end()), axis.names.end());
  for (const std::string& value : values) {
    const auto found = std::lower_bound(axis.names.begin(), axis.names.end(), value);
    axis.y.push_back(static_cast<double>(found - axis.names.begin()));
  }
  return axis;
}

std::vector<std::string> values_of(const SweptSearch& search, size_t option, size_t most) {
  std::vector<std::string> values;
  for (const SweptConfig& config : search.configs) {
    if (values.size() < most) values.push_back(config.values[option]);
  }
  return values;
}

std::string choice_text(const SweptSearch& search, const SweptConfig& config) {
  std::vector<std::string> parts;
  for (size_t o = 0; o < search.options.size(); ++o)
    parts.push_back(search.options[o] + " " + config.values[o]);
  return parts.empty() ? "the only choice" : join(parts, ", ");
}

std::string scores_text(const SweptSearch& search, const std::vector<double>& scores) {
  const double value = mean(scores);
  return std::isfinite(value) ? metric_text(search.metric, value) : "failed";
}

void add_choices(Page& page, const SweptSearch& search) {
  Panel panel{.kind = PanelKind::kParallel};
  for (size_t o = 0; o < search.options.size(); ++o)
    panel.series.push_back(axis_of(search.options[o], values_of(search, o, kMostLines)));
  Series score{.name = "validation " + search.metric};
  for (const SweptConfig& config : search.configs) {
    if (score.y.size() < kMostLines) score.y.push_back(mean(config.validation));
  }
  panel.series.push_back(std::move(score));
  const size_t all = search.configs.size();
  page.chart(
      {"Choices and what they reached",
       fmt::format("A line for each choice of options, from its values to its mean validation {}. The best "
                   "stands out; the others are the fainter the worse they are.{}",
                   search.metric,
                   all > kMostLines ? fmt::format(" The best {} of {} are drawn.", kMostLines, all) : ""),
       {panel},
       1});
}

void add_importance(Page& page, const SweptSearch& search) {
  std::vector<double> scores;
  for (const SweptConfig& config : search.configs) scores.push_back(config.first_score);
  std::vector<std::pair<double, std::string>> sorted;
  for (size_t o = 0; o < search.options.size(); ++o)
    sorted.emplace_back(-100 * option_importance(values_of(search, o, scores.size()), scores),
                        search.options[o]);
  std::sort(sorted.begin(), sorted.end());
  Panel panel{.x_label = "option", .y_label = "share of variance, %", .kind = PanelKind::kBars};
  Series series{.name = "importance"};
  for (const auto& [importance, name] : sorted) {
    panel.categories.push_back(name);
    series.y.push_back(0.0 - importance);
  }
  panel.series.push_back(std::move(series));
  page.chart(
      {"Importance of each option",
       fmt::format("How much of the variance of validation {} lies between the values of an option, less "
                   "what chance gives. Options that only count together show little.",
                   search.metric),
       {panel},
       1});
}

// The best of each stage so far: stages compare by different numbers of runs, and so not with each other.
void add_progress(Page& page, const SweptSearch& search) {
  Panel panel{.x_label = "training so far, s", .y_label = "best validation " + search.metric};
  for (const SweptStage& stage : search.stages) {
    Series series{.name = stage.runs == 1 ? "1 run" : fmt::format("{} runs", stage.runs)};
    double best = std::nan("");
    for (size_t i = 0; i < stage.scores.size(); ++i) {
      const double score = stage.scores[i];
      if (std::isnan(score)) continue;
      const bool better = std::isnan(best) || (search.higher_is_better ? score > best : score < best);
      if (better && !std::isnan(best)) {  // until now the best was another
        series.x.push_back(stage.seconds[i]);
        series.y.push_back(best);
      }
      if (better) best = score;
      series.x.push_back(stage.seconds[i]);
      series.y.push_back(best);
    }
    panel.series.push_back(std::move(series));
  }
  page.chart(
      {"The best over time",
       "The best mean so far, in the order of the search. More runs are another stage, whose means are "
       "less a matter of luck.",
       {panel},
       1});
}

void add_best(Page& page, const SweptSearch& search) {
  PageTable table{fmt::format("The best {} of {} choices", std::min(kMostConfigs, search.configs.size()),
                              search.configs.size()),
                  {{"runs", true}, {"validation " + search.metric, true}, {"test " + search.metric, true}},
                  {}};
  for (size_t o = 0; o < search.options.size(); ++o)
    table.columns.push_back(
        {search.options[o], as_numbers(values_of(search, o, search.configs.size())).has_value()});
  for (const SweptConfig& config : search.configs) {
    if (table.rows.size() == kMostConfigs) break;
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {fmt::format("{}", config.validation.size()), scores_text(search, config.validation),
           scores_text(search, config.test)};
    row.insert(row.end(), config.values.begin(), config.values.end());
  }
  page.table(table);
}

void add_overview(Page& page, const std::vector<SweptSearch>& searches) {
  page.section("The best of each search");
  PageTable table{"By validation; the test metric chose nothing",
                  {{"search", false},
                   {"choices", true},
                   {"runs", true},
                   {"metric", false},
                   {"validation", true},
                   {"test", true},
                   {"best choice", false}},
                  {}};
  for (const SweptSearch& search : searches) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {search.name + (search.finished ? "" : " (goes on)"), fmt::format("{}", search.configs.size())};
    if (search.configs.empty()) {
      row.insert(row.end(), {"", search.metric, "", "", "not yet"});
      continue;
    }
    const SweptConfig& best = search.configs.front();
    row.insert(row.end(), {fmt::format("{}", best.validation.size()), search.metric,
                           scores_text(search, best.validation), scores_text(search, best.test),
                           choice_text(search, best)});
  }
  page.table(table);
}

std::string answer(const std::vector<SweptSearch>& searches) {
  if (searches.size() > 1) {
    const auto done = std::count_if(searches.begin(), searches.end(),
                                    [](const SweptSearch& search) { return search.finished; });
    return fmt::format("{} of {} searches are finished; the table has the best choice of each.", done,
                       searches.size());
  }
  const SweptSearch& search = searches.front();
  if (search.configs.empty()) return search.name + ": the choices have not had their first runs yet.";
  const SweptConfig& best = search.configs.front();
  return fmt::format("{}: the best of {} choices is {}. It has a validation {} of {}, and {} on test nodes.",
                     search.name, search.configs.size(), choice_text(search, best), search.metric,
                     scores_text(search, best.validation), scores_text(search, best.test));
}

}  // namespace

double option_importance(std::span<const std::string> values, std::span<const double> scores) {
  const std::vector<size_t> groups = groups_of(values);
  std::map<size_t, std::vector<double>> members;
  std::vector<double> all;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) continue;
    members[groups[i]].push_back(scores[i]);
    all.push_back(scores[i]);
  }
  const auto squares = [](const std::vector<double>& of) {
    double sum = 0;
    for (const double value : of) sum += (value - mean(of)) * (value - mean(of));
    return sum;
  };
  if (members.size() < 2 || all.size() <= members.size()) return 0;
  const double total = squares(all);
  if (total <= 0) return 0;
  double within = 0;
  for (const auto& [group, of] : members) within += squares(of);
  const auto n = static_cast<double>(all.size()), k = static_cast<double>(members.size());
  return std::max(0.0, 1 - (within / (n - k)) / (total / (n - 1)));
}

std::string sweep_html(const std::vector<SweptSearch>& searches, const ReportOptions& options) {
  Page page(!options.title.empty() ? options.title
            : searches.empty()     ? "No sweep"
                                   : "Sweep " + searches.front().sweep);
  if (searches.empty()) {
    page.lead("No sweep was asked for in this file of results.");
    return page.html();
  }
  page.lead(answer(searches));
  page.warning(
      "The best was chosen by its validation metric, which is therefore better than what it will reach on "
      "other nodes; its test metric was not used to choose.");
  add_overview(page, searches);
  size_t drawn = 0;
  for (const SweptSearch& search : searches) {
    if (search.configs.size() < 2 || search.options.empty()) continue;
    if (++drawn > kMostSearches) continue;
    page.section(search.name);
    add_choices(page, search);
    add_importance(page, search);
    add_progress(page, search);
    add_best(page, search);
  }
  if (drawn > kMostSearches)
    page.paragraph(fmt::format("The first {} of {} searches are drawn.", kMostSearches, drawn));
  return page.html();
}

}  // namespace qw
