#include "report/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/text.h"
#include "report/parallel.h"

namespace qw {
namespace {

// Okabe and Ito, 2008, the darker ones first; their yellow is lost on white.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#222222"};
constexpr const char* kWhiskerColor = "#222222";
constexpr const char* kReference = "stroke=\"#888888\" stroke-width=\"1\" stroke-dasharray=\"4 3\"";
constexpr double kMarkerSize = 3.4, kSmallMarker = 2;
constexpr double kFaintest = 0.06, kFullest = 0.7;  // shades of cells: dark text can be read on all
constexpr size_t kMostMarkers = 40;                 // more on a line hide it
constexpr double kCap = 3;                          // half the width of a whisker's end
constexpr double kWidestBar = 64;
constexpr double kValueSize = 11;  // of the numbers above bars

double width_at(const std::vector<double>& widths, size_t i) {
  const double width = widths.empty() ? 0 : widths[i];
  return can_show(width, false) ? std::fabs(width) : 0;
}

// The ends of the interval around value i.
double low_of(const Series& series, size_t i) { return series.y[i] - width_at(series.spread, i); }
double high_of(const Series& series, size_t i) {
  return series.y[i] + width_at(series.spread_above.empty() ? series.spread : series.spread_above, i);
}

// Runs of entries that can be drawn: [begin, end).
std::vector<std::pair<size_t, size_t>> shown_runs(const Panel& panel, const Series& series) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < series.y.size(); ++i) {
    if (!is_shown(panel, series, i)) continue;
    if (runs.empty() || runs.back().second != i) runs.emplace_back(i, i);
    runs.back().second = i + 1;
  }
  return runs;
}

void draw_marker(Svg& svg, Point at, const Look& look) {
  const std::string attributes =
      fmt::format("class=\"marker\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.8\"", look.color);
  const double size = kMarkerSize;
  switch (look.marker) {
    case 0:
      return svg.circle(at, size, attributes);
    case 1:
      return svg.rectangle({at.x - 0.9 * size, at.y - 0.9 * size}, 1.8 * size, 1.8 * size, attributes);
    case 2:
      return svg.polygon(
          {{at.x, at.y - 1.3 * size}, {at.x + 1.2 * size, at.y + size}, {at.x - 1.2 * size, at.y + size}},
          attributes);
    case 3:
      return svg.polygon({{at.x, at.y - 1.4 * size},
                          {at.x + 1.4 * size, at.y},
                          {at.x, at.y + 1.4 * size},
                          {at.x - 1.4 * size, at.y}},
                         attributes);
    default:
      return svg.polygon(
          {{at.x, at.y + 1.3 * size}, {at.x + 1.2 * size, at.y - size}, {at.x - 1.2 * size, at.y - size}},
          attributes);
  }
}

void draw_whisker(Svg& svg, double x, double low, double high, const char* color) {
  if (low == high) return;
  const std::string attributes = fmt::format("stroke=\"{}\" stroke-width=\"1.2\"", color);
  svg.line({x, low}, {x, high}, attributes);
  svg.line({x - kCap, low}, {x + kCap, low}, attributes);
  svg.line({x - kCap, high}, {x + kCap, high}, attributes);
}

void draw_spread(Svg& svg, const Panel& panel, const Plot& plot, const Series& series, const Look& look,
                 std::pair<size_t, size_t> run) {
  const auto [begin, end] = run;
  const auto low = [&](size_t i) { return plot.at_y(low_of(series, i)); };
  const auto high = [&](size_t i) { return plot.at_y(high_of(series, i)); };
  if (panel.spread_style == SpreadStyle::kWhiskers || end - begin == 1) {
    for (size_t i = begin; i < end; ++i)
      draw_whisker(svg, plot.at_x(series.x[i]), low(i), high(i), look.color);
    return;
  }
  std::vector<Point> outline;
  for (size_t i = begin; i < end; ++i) outline.push_back({plot.at_x(series.x[i]), high(i)});
  for (size_t i = end; i-- > begin;) outline.push_back({plot.at_x(series.x[i]), low(i)});
  svg.polygon(outline, fmt::format("fill=\"{}\" fill-opacity=\"0.15\"", look.color));
}

void draw_thin_line(Svg& svg, const Panel& panel, const Plot& plot, const Series& series, const Look& look) {
  for (const auto& [begin, end] : shown_runs(panel, series)) {
    std::vector<Point> points;
    for (size_t i = begin; i < end; ++i) points.push_back(plot.at(series.x[i], series.y[i]));
    svg.polyline(points,
                 fmt::format("stroke=\"{}\" stroke-width=\"0.8\" stroke-opacity=\"0.45\"", look.color));
  }
}

void draw_line(Svg& svg, const Panel& panel, const Plot& plot, const Series& series, const Look& look) {
  if (series.thin) return draw_thin_line(svg, panel, plot, series, look);
  const auto runs = shown_runs(panel, series);
  for (const auto& run : runs) {
    if (!series.spread.empty()) draw_spread(svg, panel, plot, series, look, run);
  }
  for (const auto& [begin, end] : runs) {
    std::vector<Point> points;
    for (size_t i = begin; i < end; ++i) points.push_back(plot.at(series.x[i], series.y[i]));
    if (points.size() > 1) {
      svg.polyline(points,
                   fmt::format("stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"", look.color));
    }
    if (points.size() > 1 && series.y.size() > kMostMarkers) continue;
    for (const Point& point : points) draw_marker(svg, point, look);
  }
}

// Many are small and let others shine through.
void draw_points(Svg& svg, const Panel& panel, const Plot& plot, const Series& series, const Look& look) {
  const bool many = series.y.size() > kMostMarkers;
  const std::string attributes =
      fmt::format("class=\"marker\" fill=\"{}\" fill-opacity=\"0.35\"", look.color);
  for (size_t i = 0; i < series.y.size(); ++i) {
    if (!is_shown(panel, series, i)) continue;
    const Point at = plot.at(series.x[i], series.y[i]);
    if (many) {
      svg.circle(at, kSmallMarker, attributes);
    } else {
      draw_marker(svg, at, look);
    }
  }
}

void draw_histogram(Svg& svg, const Panel& panel, const Plot& plot, const Series& series, const Look& look) {
  for (const auto& [begin, end] : shown_runs(panel, series)) {
    std::vector<Point> outline{plot.at(series.x[begin], 0)};
    for (size_t i = begin; i < end; ++i) {
      outline.push_back(plot.at(series.x[i], series.y[i]));
      outline.push_back(plot.at(series.x[i + 1], series.y[i]));
    }
    outline.push_back(plot.at(series.x[end], 0));
    svg.polygon(outline, fmt::format("fill=\"{}\" fill-opacity=\"0.22\"", look.color));
    svg.polyline(outline,
                 fmt::format("stroke=\"{}\" stroke-width=\"1.5\" stroke-linejoin=\"round\"", look.color));
  }
}

std::string short_number(double value) {
  return std::fabs(value) >= 1000 && std::fabs(value) < 1e9 ? with_thousands(std::llround(value))
                                                            : fmt::format("{:.3g}", value);
}

std::string bar_label(const Series& series, size_t i) { return with_true_minus(short_number(series.y[i])); }

void draw_bar(Svg& svg, const Plot& plot, double left, double width, const Series& series, size_t i,
              const Look& look, bool labelled) {
  const double value = series.y[i];
  const double base = plot.at_y(0), end = plot.at_y(value), middle = left + width / 2;
  const double low = plot.at_y(low_of(series, i)), high = plot.at_y(high_of(series, i));
  svg.rectangle({left, std::min(base, end)}, width, std::fabs(base - end),
                fmt::format("fill=\"{}\"", look.color));
  draw_whisker(svg, middle, low, high, kWhiskerColor);
  if (!labelled) return;
  const double at = value < 0 ? low + kValueSize + 2 : high - 4;
  svg.text({middle, at}, bar_label(series, i), {.size = kValueSize, .anchor = Anchor::kMiddle});
}

// Series that have a value in a category stand side by side there; all bars have one width.
void draw_bars(Svg& svg, const Panel& panel, const Plot& plot, const Looks& looks) {
  std::vector<std::vector<const Series*>> groups(panel.categories.size());
  size_t widest = 1;
  for (size_t c = 0; c < groups.size(); ++c) {
    for (const Series& series : panel.series) {
      if (is_shown(panel, series, c)) groups[c].push_back(&series);
    }
    widest = std::max(widest, groups[c].size());
  }
  const double slot = plot.width / static_cast<double>(groups.size());
  const double pitch = std::min(kWidestBar, 0.72 * slot / static_cast<double>(widest));
  bool labelled = true;  // all are, or none: a lone number would stand out
  for (size_t c = 0; c < groups.size(); ++c) {
    for (const Series* series : groups[c])
      labelled = labelled && text_width(bar_label(*series, c), kValueSize) <= 0.92 * pitch - 2;
  }
  for (size_t c = 0; c < groups.size(); ++c) {
    const double middle = plot.left + (static_cast<double>(c) + 0.5) * slot;
    double left = middle - pitch * static_cast<double>(groups[c].size()) / 2;
    for (const Series* series : groups[c]) {
      svg.begin_group(series_group(looks.at(series->name)));
      draw_bar(svg, plot, left + 0.04 * pitch, 0.92 * pitch, *series, c, looks.at(series->name), labelled);
      svg.end_group();
      left += pitch;
    }
  }
}

// Series side by side in the row of a name, each value with its interval.
void draw_intervals(Svg& svg, const Panel& panel, const Plot& plot, const Looks& looks) {
  if (plot.x.low < 0 && plot.x.high > 0)
    svg.line({plot.at_x(0), plot.top}, {plot.at_x(0), plot.bottom()}, kReference);
  const double row = plot.height / static_cast<double>(panel.categories.size());
  const double pitch = row / static_cast<double>(panel.series.size() + 1);
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const Series& series = panel.series[s];
    const Look& look = looks.at(series.name);
    svg.begin_group(series_group(look));
    for (size_t c = 0; c < panel.categories.size(); ++c) {
      if (!is_shown(panel, series, c)) continue;
      const double y = plot.top + static_cast<double>(c) * row + static_cast<double>(s + 1) * pitch;
      const std::string stroke = fmt::format("stroke=\"{}\" stroke-width=\"1.6\"", look.color);
      svg.line({plot.at_x(low_of(series, c)), y}, {plot.at_x(high_of(series, c)), y}, stroke);
      draw_marker(svg, {plot.at_x(series.y[c]), y}, look);
    }
    svg.end_group();
  }
}

// All numbers of a matrix have the same decimals: none where all are whole.
int decimals_of(const Panel& panel, double largest) {
  for (const Series& series : panel.series) {
    for (size_t c = 0; c < panel.categories.size(); ++c) {
      if (is_shown(panel, series, c) && series.y[c] != std::round(series.y[c])) return largest >= 10 ? 1 : 2;
    }
  }
  return 0;
}

std::string cell_label(double value, int decimals) {
  if (decimals == 0 || std::fabs(value) >= 1000) return with_true_minus(short_number(value));
  return with_true_minus(fmt::format("{:.{}f}", value, decimals));
}

// The more, the darker.
void draw_matrix(Svg& svg, const Panel& panel, const Plot& plot) {
  const Extent extent = y_extent(panel);
  const int decimals = decimals_of(panel, extent.high);
  const double width = plot.width / static_cast<double>(panel.categories.size());
  const double height = plot.height / static_cast<double>(panel.series.size());
  for (size_t r = 0; r < panel.series.size(); ++r) {
    for (size_t c = 0; c < panel.categories.size(); ++c) {
      if (!is_shown(panel, panel.series[r], c)) continue;
      const double value = panel.series[r].y[c];
      const double share = extent.high > 0 ? std::max(0.0, value / extent.high) : 0;
      const Point corner{plot.left + static_cast<double>(c) * width,
                         plot.top + static_cast<double>(r) * height};
      svg.rectangle({corner.x + 0.5, corner.y + 0.5}, width - 1, height - 1,
                    fmt::format("fill=\"{}\" fill-opacity=\"{:.2f}\"", kColors[0],
                                kFaintest + (kFullest - kFaintest) * share));
      const std::string label = cell_label(value, decimals);
      if (text_width(label, kValueSize) > width - 4) continue;
      svg.text({corner.x + width / 2, corner.y + height / 2 + 0.36 * kValueSize}, label,
               {.size = kValueSize, .anchor = Anchor::kMiddle});
    }
  }
}

void draw_diagonal(Svg& svg, const Plot& plot) {
  const double low = std::max(plot.x.low, plot.y.low), high = std::min(plot.x.high, plot.y.high);
  if (low < high) svg.line(plot.at(low, low), plot.at(high, high), kReference);
}

// Where nothing is drawn there is no extent either.
void reach(Extent& extent, const std::vector<double>& values, bool log) {
  if (extent.empty()) return;
  for (const double value : values) {
    if (can_show(value, log)) extent.include(value);
  }
}

// On a log axis, what stands on the lower end must rise above it.
void make_room(Extent& extent, const Panel& panel) {
  if (extent.empty() || (panel.kind != PanelKind::kBars && panel.kind != PanelKind::kHistogram)) return;
  if (panel.log_y) {
    extent.include(0.8 * extent.low);
  } else {
    extent.include(0);
  }
  if (panel.kind != PanelKind::kBars) return;
  const double number = 0.09;  // of the height, for the number at a bar's end
  if (panel.log_y) {
    extent.include(extent.high * std::pow(extent.high / extent.low, number));
    return;
  }
  const double range = extent.high - extent.low;
  if (extent.high > 0) extent.include(extent.high + number * range);
  if (extent.low < 0) extent.include(extent.low - number * range);
}

}  // namespace

bool names_below(PanelKind kind) {
  return kind == PanelKind::kBars || kind == PanelKind::kMatrix || kind == PanelKind::kParallel;
}

Look look_of(int place) {
  constexpr int kMarkers = 5;
  return {kColors[place % static_cast<int>(std::size(kColors))], place % kMarkers, place};
}

std::string series_group(const Look& look) {
  return fmt::format("class=\"series\" data-series=\"{}\"", look.place);
}

void Extent::include(double value) {
  const bool first = empty();
  low = first ? value : std::min(low, value);
  high = first ? value : std::max(high, value);
}

bool is_shown(const Panel& panel, const Series& series, size_t i) {
  switch (panel.kind) {
    case PanelKind::kLines:
    case PanelKind::kPoints:
      return can_show(series.x[i], panel.log_x) && can_show(series.y[i], panel.log_y);
    case PanelKind::kIntervals:
      return can_show(series.y[i], panel.log_x);
    case PanelKind::kBars:
    case PanelKind::kMatrix:
      return i < series.y.size() && can_show(series.y[i], panel.log_y);
    case PanelKind::kParallel:
      return can_show(series.y[i], false);
    case PanelKind::kHistogram:
      break;
  }
  return can_show(series.x[i], panel.log_x) && can_show(series.x[i + 1], panel.log_x) &&
         can_show(series.y[i], false);
}

Extent x_extent(const Panel& panel) {
  Extent extent;
  if (names_below(panel.kind)) return extent;
  if (panel.kind == PanelKind::kIntervals) {
    for (const Series& series : panel.series) {
      for (size_t i = 0; i < series.y.size(); ++i) {
        if (!is_shown(panel, series, i)) continue;
        for (const double value : {low_of(series, i), series.y[i], high_of(series, i)}) {
          if (can_show(value, panel.log_x)) extent.include(value);
        }
      }
    }
    reach(extent, panel.x_reach, panel.log_x);
    return extent;
  }
  for (const Series& series : panel.series) {
    for (size_t i = 0; i < series.y.size(); ++i) {
      if (!is_shown(panel, series, i)) continue;
      extent.include(series.x[i]);
      if (panel.kind == PanelKind::kHistogram) extent.include(series.x[i + 1]);
    }
  }
  reach(extent, panel.x_reach, panel.log_x);
  return extent;
}

Extent y_extent(const Panel& panel) {
  Extent extent;
  for (const Series& series : panel.series) {
    for (size_t i = 0; i < series.y.size(); ++i) {
      if (!is_shown(panel, series, i)) continue;
      for (const double value : {low_of(series, i), series.y[i], high_of(series, i)}) {
        if (can_show(value, panel.log_y)) extent.include(value);
      }
    }
  }
  reach(extent, panel.y_reach, panel.log_y);
  make_room(extent, panel);
  return extent;
}

void draw_marks(Svg& svg, const Panel& panel, const Plot& plot, const Looks& looks) {
  if (panel.diagonal) draw_diagonal(svg, plot);
  if (panel.kind == PanelKind::kBars) return draw_bars(svg, panel, plot, looks);
  if (panel.kind == PanelKind::kIntervals) return draw_intervals(svg, panel, plot, looks);
  if (panel.kind == PanelKind::kMatrix) return draw_matrix(svg, panel, plot);
  if (panel.kind == PanelKind::kParallel) return draw_parallel(svg, panel, plot);
  const auto draw = panel.kind == PanelKind::kLines    ? draw_line
                    : panel.kind == PanelKind::kPoints ? draw_points
                                                       : draw_histogram;
  for (const bool thin : {true, false}) {
    for (const Series& series : panel.series) {
      if (series.thin != thin) continue;
      svg.begin_group(series_group(looks.at(series.name)));
      draw(svg, panel, plot, series, looks.at(series.name));
      svg.end_group();
    }
  }
}

void draw_swatch(Svg& svg, PanelKind kind, const Look& look, Point at) {
  if (kind == PanelKind::kPoints) return draw_marker(svg, {at.x + kSwatchWidth / 2, at.y}, look);
  if (kind == PanelKind::kLines || kind == PanelKind::kIntervals) {
    svg.line(at, {at.x + kSwatchWidth, at.y}, fmt::format("stroke=\"{}\" stroke-width=\"1.8\"", look.color));
    draw_marker(svg, {at.x + kSwatchWidth / 2, at.y}, look);
    return;
  }
  const double opacity = kind == PanelKind::kBars ? 1 : 0.22;
  svg.rectangle({at.x + 4, at.y - 6}, kSwatchWidth - 8, 12,
                fmt::format("fill=\"{}\" fill-opacity=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"", look.color,
                            opacity, look.color));
}

}  // namespace qw
