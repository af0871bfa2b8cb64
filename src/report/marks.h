// What stands inside the axes of a panel: lines, points, bars, histograms, intervals, cells.
#pragma once

#include <map>
#include <string>

#include "qw/report/chart.h"
#include "report/axis.h"
#include "report/svg.h"

namespace qw {

// Where a panel draws, in the units of the figure.
struct Plot {
  double left = 0, top = 0, width = 0, height = 0;
  double inset = 0;  // room at both ends of the x axis
  Axis x, y;

  double bottom() const { return top + height; }
  double at_x(double value) const { return left + inset + x.share(value) * (width - 2 * inset); }
  double at_y(double value) const { return bottom() - y.share(value) * height; }
  Point at(double x_value, double y_value) const { return {at_x(x_value), at_y(y_value)}; }
};

// How a series looks: its place among all names of the figure decides.
struct Look {
  const char* color;
  int marker;
  int place;
};
// Whether names stand below the x axis instead of numbers: of categories, or of the axes themselves.
bool names_below(PanelKind kind);

// What belongs to a series, for pages that hide it: <g class="series" data-series="PLACE">.
std::string series_group(const Look& look);
constexpr int kColorCount = 7;  // more looks than these repeat colours
Look look_of(int place);
using Looks = std::map<std::string, Look>;

// Smallest and largest of what a panel shows; nothing yet while low > high.
struct Extent {
  double low = 1;
  double high = 0;
  bool empty() const { return low > high; }
  void include(double value);
};
Extent x_extent(const Panel& panel);  // of bars and matrices: nothing
Extent y_extent(const Panel& panel);  // of matrices: of their values

// Whether entry i of a series can be drawn.
bool is_shown(const Panel& panel, const Series& series, size_t i);

void draw_marks(Svg& svg, const Panel& panel, const Plot& plot, const Looks& looks);

// A sample for the legend, `kSwatchWidth` wide, its left end at `at`.
inline constexpr double kSwatchWidth = 24;
void draw_swatch(Svg& svg, PanelKind kind, const Look& look, Point at);

}  // namespace qw
