#include "report/figure_json.h"

#include "support/support.h"

namespace qw {
namespace {

using nlohmann::ordered_json;
using test::error_of;

Figure read(const char* text) { return figure_from_json(ordered_json::parse(text), "f.json"); }

TEST(FigureJson, HasTheFieldsOfAFigure) {
  const Figure figure = read(R"({"title": "T", "columns": 1, "panels": [
      {"kind": "bars", "title": "P", "x_label": "x", "y_label": "y", "log_y": true, "categories": ["a", "b"],
       "spread_style": "whiskers", "series": [{"name": "s", "y": [1, null], "spread": [0.5, 0.25], "thin": true}]},
      {"diagonal": true, "x_reach": [0], "y_reach": [-1, 1]}]})");
  EXPECT_EQ(figure.title, "T");
  EXPECT_EQ(figure.columns, 1);
  ASSERT_EQ(figure.panels.size(), 2u);
  const Panel& panel = figure.panels[0];
  EXPECT_EQ(panel.kind, PanelKind::kBars);
  EXPECT_EQ(panel.spread_style, SpreadStyle::kWhiskers);
  EXPECT_TRUE(panel.series.front().thin);
  EXPECT_TRUE(panel.log_y);
  EXPECT_EQ(panel.series[0].y[0], 1);
  EXPECT_TRUE(std::isnan(panel.series[0].y[1]));
  EXPECT_EQ(figure.panels[1].kind, PanelKind::kLines);
  EXPECT_TRUE(figure.panels[1].diagonal);
  EXPECT_EQ(figure.panels[1].x_reach, (std::vector<double>{0}));
  EXPECT_EQ(figure.panels[1].y_reach, (std::vector<double>{-1, 1}));
}

TEST(FigureJson, OnePanelMayStandBesideTheTitle) {
  const Figure figure = read(R"({"title": "T", "kind": "points", "series": [{"x": [1], "y": [2]}]})");
  ASSERT_EQ(figure.panels.size(), 1u);
  EXPECT_EQ(figure.panels[0].kind, PanelKind::kPoints);
}

TEST(FigureJson, EveryKindHasAName) {
  for (const std::string& kind : panel_kinds())
    EXPECT_NO_THROW(read(("{\"kind\": \"" + kind + "\"}").c_str()));
  EXPECT_EQ(panel_kinds()[static_cast<size_t>(PanelKind::kMatrix)], "matrix");
}

TEST(FigureJson, WhatIsWrongIsNamed) {
  const auto refusal = [](const char* text) { return error_of([&] { read(text); }); };
  EXPECT_EQ(refusal("[]"), "f.json: is no JSON object");
  EXPECT_EQ(refusal(R"({"kind": "bar"})"),
            "f.json: kind 'bar' is unknown; did you mean 'bars'? known: lines, points, bars, histogram, "
            "intervals, matrix, parallel");
  EXPECT_EQ(refusal(R"({"panels": [{"titel": "x"}]})").substr(0, 65),
            "f.json: panel 0: 'titel' is unknown; did you mean 'title'? known:");
  EXPECT_EQ(refusal(R"({"title": 3})"), "f.json: 'title' is of the wrong kind");
  EXPECT_EQ(refusal(R"({"panels": 3})"), "f.json: 'panels' is no list");
  EXPECT_EQ(refusal(R"({"panels": [{"series": [{"y": ["a"]}]}]})"),
            "f.json: panel 0: series 0: 'y' has what is no number: \"a\"");
}

}  // namespace
}  // namespace qw
