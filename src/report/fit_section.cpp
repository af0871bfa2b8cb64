#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCandidates = 25;  // in the table
constexpr size_t kMostDrawn = 15;

void add_verdicts(Page& page, const Json& fit) {
  if (!fit.contains("verdicts")) return;
  const bool points = fit.at("verdicts").front().at("measure") == "accuracy";
  const double scale = points ? 100 : 1;
  Panel panel{.x_label = points ? "points of accuracy" : "r2", .kind = PanelKind::kIntervals};
  Series series{.name = "difference"};
  PageTable table{
      "Verdicts, on validation nodes",
      {{"question", false}, {"answer", false}, {"difference", true}, {"candidate", false}, {"beside", false}},
      {}};
  for (const Json& verdict : fit.at("verdicts")) {
    const double difference = scale * verdict.at("difference").get<double>();
    const double half_width = scale * verdict.at("half_width").get<double>();
    panel.categories.push_back(verdict.at("question").get<std::string>());
    series.y.push_back(difference);
    series.spread.push_back(half_width);
    table.rows.push_back(
        {verdict.at("question").get<std::string>(), verdict.at("answer").get<std::string>(),
         fmt::format("{:+.{}f} ± {:.{}f}", difference, points ? 1 : 3, half_width, points ? 1 : 3),
         verdict.at("candidate").get<std::string>(), verdict.at("against").get<std::string>()});
  }
  panel.series = {series};
  page.chart({"What helps", "Differences with their 95 % intervals; right of 0 it helps.", {panel}, 1});
  page.table(table);
}

void add_curve(Page& page, const Json& fit, const std::string& metric) {
  if (!fit.contains("learning_curve")) return;
  Panel panel{.x_label = "training labels", .y_label = "validation " + metric};
  Series series{.name = "best candidate"};
  for (const Json& point : fit.at("learning_curve")) {
    series.x.push_back(point.at("labels").get<double>());
    series.y.push_back(point.at("score").get<double>());
  }
  panel.series = {series};
  page.chart({"What more labels bring",
              "The best candidate, trained with a quarter, half and all of the labels.",
              {panel},
              1});
}

// Who raced and how far they came; and who speaks in the end, how loudly.
void add_race(Page& page, const Json& fit, const std::string& metric) {
  const bool percent = metric_text(metric, 1).ends_with("%");
  Panel scores{.title = "The race",
               .x_label = "validation " + metric + (percent ? ", %" : ""),
               .kind = PanelKind::kIntervals};
  Panel weights{.title = "The ensemble", .x_label = "weight", .kind = PanelKind::kIntervals, .x_reach = {0}};
  Series score{.name = "candidates"}, weight{.name = "candidates"};  // one colour, no legend
  for (const Json& row : fit.at("candidates")) {
    const std::string name = row.at("name").get<std::string>();
    if (scores.categories.size() < kMostDrawn && row.at("score").is_number()) {
      scores.categories.push_back(name);
      score.y.push_back((percent ? 100 : 1) * row.at("score").get<double>());
    }
    if (row.at("weight").get<double>() > 0) {
      weights.categories.push_back(name);
      weight.y.push_back(row.at("weight").get<double>());
    }
  }
  const size_t all = fit.at("candidates").size();
  scores.series = {score};
  weights.series = {weight};
  page.chart({"The race of candidates",
              fmt::format("The {} of {} candidates over the folds they were trained on; those with a weight "
                          "speak together.",
                          all > kMostDrawn ? fmt::format("best {}", kMostDrawn) : "scores", all),
              weights.categories.empty() ? std::vector<Panel>{scores} : std::vector<Panel>{scores, weights},
              2});
}

// The metrics of all together beside those of the best alone.
void add_together(Page& page, const Json& fit) {
  PageTable table{"All together, and the best alone",
                  {{"metric", false}, {"validation", true}, {"test", true}, {"test, best alone", true}},
                  {}};
  const auto cell = [&](const char* part, const std::string& metric) {
    const bool has = fit.at(part).contains(metric) && fit.at(part).at(metric).is_number();
    return has ? metric_text(metric, fit.at(part).at(metric).get<double>()) : "";
  };
  for (const auto& [metric, value] : fit.at("validation").items())
    table.rows.push_back(
        {metric, cell("validation", metric), cell("test", metric), cell("single_test", metric)});
  if (!table.rows.empty()) page.table(table);
}

}  // namespace

void add_fit(Page& page, const RunRecord& record) {
  if (!record.fit) return;
  const Json& fit = *record.fit;
  const std::string metric = record.summary.value("metric", "score");
  page.section("The race");
  const auto folds = fit.at("folds").get<int64_t>(), trials = fit.at("trials").get<int64_t>();
  page.paragraph(fmt::format("{} training{} in {:.0f} seconds on {} of the labelled nodes.", trials,
                             trials == 1 ? "" : "s", fit.at("seconds").get<double>(),
                             folds == 1 ? "one fold" : fmt::format("{} folds", folds)));
  add_verdicts(page, fit);
  add_curve(page, fit, metric);
  add_race(page, fit, metric);
  add_together(page, fit);
  PageTable table{"Candidates, best first",
                  {{"candidate", false}, {"folds", true}, {"validation " + metric, true}, {"weight", true}},
                  {}};
  size_t others = 0;
  for (const Json& row : fit.at("candidates")) {
    const double weight = row.at("weight").get<double>();
    if (weight == 0 && table.rows.size() >= kMostCandidates) {
      ++others;
      continue;
    }
    table.rows.push_back({row.at("name").get<std::string>(), row.at("folds").dump(),
                          metric_text(metric, row.at("score").get<double>()),
                          weight > 0 ? fmt::format("{:.2f}", weight) : ""});
  }
  page.table(table);
  if (others > 0)
    page.paragraph(fmt::format("{} more candidate{} in fit.json.", others, others == 1 ? " is" : "s are"));
}

}  // namespace qw
