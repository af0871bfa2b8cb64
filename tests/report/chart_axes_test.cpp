// Where axes end, and which numbers stand at bars.
#include "report/drawn_figure.h"
#include "support/support.h"

namespace qw {
namespace {

// The values of a page's drawing say where its axes end.
TEST(Chart, AxesReachWhatTheyAreAskedTo) {
  Panel panel{.kind = PanelKind::kPoints, .x_reach = {0, 1}, .y_reach = {-4}};
  panel.series = {{.name = "s", .x = {0.5}, .y = {2}}};
  const auto values = draw_figure({"T", "", {panel}, 1}).panels.at(0).values;
  EXPECT_EQ(values["x"], (nlohmann::ordered_json{0.0, 1.0, false}));
  EXPECT_EQ(values["y"], (nlohmann::ordered_json{-4.0, 2.0, false}));
  panel.diagonal = true;
  const auto equal = draw_figure({"T", "", {panel}, 1}).panels.at(0).values;
  EXPECT_EQ(equal["x"], equal["y"]) << "equal values lie on a diagonal";
}

TEST(Chart, BarsHaveTheirNumbersAllOrNone) {
  Panel panel{.kind = PanelKind::kBars};
  Series series{.name = "s"};
  for (int i = 0; i < 40; ++i) {
    panel.categories.push_back(std::to_string(i));
    series.y.push_back(i == 7 ? 0.5 : 1234567 + i);
  }
  panel.series = {series};
  EXPECT_EQ(to_svg({"T", "", {panel}, 1}).find(">0.5</text>"), std::string::npos);
}

}  // namespace
}  // namespace qw
