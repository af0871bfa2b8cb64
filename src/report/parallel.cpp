#include "report/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qw {
namespace {

constexpr const char* kFirstColor = "#d55e00";
constexpr const char* kColor = "#0072b2";
constexpr double kMostOpaque = 0.7, kLeastOpaque = 0.15;
constexpr double kTickSize = 11;
constexpr double kLogFrom = 100;  // largest over smallest value
constexpr int kMostTicks = 5;

Axis axis_of(const Series& series) {
  if (!series.names.empty()) {
    Axis axis;
    const auto last = static_cast<double>(series.names.size() - 1);
    axis.low = last > 0 ? 0 : -0.5;
    axis.high = last > 0 ? last : 0.5;
    for (size_t i = 0; i < series.names.size(); ++i) axis.ticks.push_back(static_cast<double>(i));
    axis.labels = series.names;
    return axis;
  }
  Extent extent;
  bool positive = true;
  for (const double value : series.y) {
    if (!can_show(value, false)) continue;
    extent.include(value);
    positive = positive && can_show(value, true);
  }
  if (extent.empty()) return make_axis(0, 1, false, kMostTicks);
  return make_axis(extent.low, extent.high, positive && extent.high >= kLogFrom * extent.low, kMostTicks);
}

double axis_x(const Plot& plot, size_t place, size_t axes) {
  return plot.left + plot.width * (static_cast<double>(place) + 0.5) / static_cast<double>(axes);
}

double axis_y(const Plot& plot, const Axis& axis, double value) {
  return plot.bottom() - axis.share(value) * plot.height;
}

// The line of an entry, in pieces where values are missing.
void draw_entry(Svg& svg, const Panel& panel, const Plot& plot, const std::vector<Axis>& axes, size_t entry) {
  const size_t entries = panel.series.front().y.size();
  const double share = entries > 1 ? static_cast<double>(entry) / static_cast<double>(entries - 1) : 0;
  const std::string look =
      entry == 0 ? fmt::format("stroke=\"{}\" stroke-width=\"2.6\" stroke-linejoin=\"round\"", kFirstColor)
                 : fmt::format("stroke=\"{}\" stroke-width=\"1.2\" stroke-opacity=\"{:.2f}\"", kColor,
                               kMostOpaque + (kLeastOpaque - kMostOpaque) * share);
  std::vector<Point> points;
  const auto flush = [&] {
    if (points.size() > 1) svg.polyline(points, look);
    points.clear();
  };
  for (size_t a = 0; a < axes.size(); ++a) {
    const double value = panel.series[a].y[entry];
    if (!can_show(value, axes[a].log)) {
      flush();
      continue;
    }
    points.push_back({axis_x(plot, a, axes.size()), axis_y(plot, axes[a], value)});
  }
  flush();
}

void draw_axis(Svg& svg, const Plot& plot, const Axis& axis, double x, double room) {
  svg.line({x, plot.top}, {x, plot.bottom()}, "stroke=\"#555555\" stroke-width=\"1\"");
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const Point at{x + 5, axis_y(plot, axis, axis.ticks[i]) + 0.36 * kTickSize};
    svg.line({x - 3, axis_y(plot, axis, axis.ticks[i])}, {x + 3, axis_y(plot, axis, axis.ticks[i])},
             "stroke=\"#555555\" stroke-width=\"1\"");
    // A rim of paper keeps lines off the letters.
    svg.begin_group("paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\"");
    svg.text(at, fit_text(axis.labels[i], kTickSize, room), {.size = kTickSize, .color = "#444444"});
    svg.end_group();
  }
}

}  // namespace

std::vector<Axis> parallel_axes(const Panel& panel) {
  std::vector<Axis> axes;
  for (const Series& series : panel.series) axes.push_back(axis_of(series));
  return axes;
}

void draw_parallel(Svg& svg, const Panel& panel, const Plot& plot) {
  const std::vector<Axis> axes = parallel_axes(panel);
  for (size_t entry = panel.series.front().y.size(); entry-- > 0;) draw_entry(svg, panel, plot, axes, entry);
  const double room = plot.width / static_cast<double>(axes.size()) - 10;
  for (size_t a = 0; a < axes.size(); ++a) draw_axis(svg, plot, axes[a], axis_x(plot, a, axes.size()), room);
}

nlohmann::ordered_json parallel_json(const Panel& panel) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const std::vector<Axis> axes = parallel_axes(panel);
  for (size_t a = 0; a < axes.size(); ++a) {
    json.push_back({{"low", axes[a].low},
                    {"high", axes[a].high},
                    {"log", axes[a].log},
                    {"names", panel.series[a].names}});
  }
  return json;
}

}  // namespace qw
