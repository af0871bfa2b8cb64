// A figure, and where its values lie in the drawing: what a page needs to show them under the pointer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "qw/report/chart.h"

namespace qw {

struct DrawnFigure {
  std::string svg;  // as to_svg() gives it
  // [{"kind", "box": [left, top, width, height], "x": [low, high, is_log], "y": ..., "inset", "x_label",
  // "y_label", "categories", "series": [{"name", "place", "x", "y", "spread"}]}] of the panels; places are
  // those of <g class="series" data-series="PLACE"> and of the legend's <g class="legend" ...>.
  nlohmann::ordered_json panels;
};

DrawnFigure draw_figure(const Figure& figure);

}  // namespace qw
