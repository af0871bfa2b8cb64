#include <fmt/format.h>

#include <algorithm>

#include "report/sections.h"

namespace qw {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCandidates = 25;

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

}  // namespace

void add_fit(Page& page, const RunRecord& record) {
  if (!record.fit) return;
  const Json& fit = *record.fit;
  const std::string metric = record.summary.value("metric", "score");
  page.section("The race");
  page.paragraph(fmt::format("{} trainings in {:.0f} seconds on {} folds of the labelled nodes.",
                             fit.at("trials").get<int64_t>(), fit.at("seconds").get<double>(),
                             fit.at("folds").get<int64_t>()));
  add_verdicts(page, fit);
  add_curve(page, fit, metric);
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
  if (others > 0) page.paragraph(fmt::format("{} more candidates are in fit.json.", others));
}

}  // namespace qw
