// A figure as a page has it: panels are drawings of their own, which a narrow page puts below each other,
// and the title and the legend are the page's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/report/chart.h"

namespace qw {

struct DrawnPanel {
  std::string svg;  // <svg ...>...</svg>; what lies inside the axes is in <g class="marks">
  double width = 0;
  // {"kind", "box": [left, top, width, height], "x": [low, high, is_log], "y": ..., "inset", "x_label",
  // "y_label", "categories", "series": [{"name", "place", "x", "y", "spread"}], "axes"}: where values lie in
  // the drawing. Places are those of <g class="series" data-series="PLACE"> and of the legend.
  nlohmann::ordered_json values;
};

struct LegendItem {
  std::string name;
  int place = 0;
  std::string swatch;  // <svg ...>...</svg>
};

struct DrawnFigure {
  std::vector<DrawnPanel> panels;
  std::vector<LegendItem> legend;  // empty where there is one name alone
};

DrawnFigure draw_figure(const Figure& figure);

}  // namespace qw
