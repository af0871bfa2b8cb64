#include "qw/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/text.h"
#include "qw/core/error.h"
#include "report/axis.h"
#include "report/drawn_figure.h"
#include "report/figure_json.h"
#include "report/marks.h"
#include "report/parallel.h"
#include "report/svg.h"

namespace qw {
namespace {

constexpr double kFigureWidth = 860;
constexpr double kPageWidth = 416;  // of a panel on a page: a phone shows it at three quarters of its size
constexpr double kWidestIntervals = 560;
constexpr double kWidestName = 90;     // that a page makes room for below bars
constexpr double kNarrowestAxis = 84;  // of parallel ones
constexpr double kNarrowestPanel = 300;
constexpr double kMargin = 16;
constexpr double kTitleSize = 16, kPanelTitleSize = 13, kLabelSize = 12, kTickSize = 11;
constexpr double kLineHeight = 1.25;
constexpr double kLegendRow = 22;
constexpr double kLegendGap = 22;
constexpr double kTickRoom = 60;     // for a label below the x axis
constexpr double kPlotShare = 0.75;  // of a panel's width is the x axis, at least
constexpr int kMostRows = 6;         // of the grid
constexpr int kMostDecades = 8;
constexpr double kBoldness = 1.2;  // how much wider bold text is
constexpr double kInset = 8;
constexpr double kMostNameWidth = 0.46;           // of a panel, for names down its side
constexpr double kNameRow = 24, kSeriesRow = 12;  // of a name, and of each series more than one
constexpr double kFewestRows = 3;
constexpr const char* kGrid = "stroke=\"#e4e4e4\" stroke-width=\"0.8\"";
constexpr const char* kAxisLine = "stroke=\"#555555\" stroke-width=\"1\"";
constexpr const char* kTickColor = "#444444";

void check(const Panel& panel, const Series& series) {
  const auto refuse = [&](const std::string& problem) {
    fail(fmt::format("chart {}, series {}: {}", in_quotes(panel.title), in_quotes(series.name), problem));
  };
  const size_t n = series.y.size();
  const auto expect = [&](const char* what, size_t found, size_t wanted) {
    if (found != wanted) refuse(fmt::format("{} {} for {} y, expected {}", found, what, n, wanted));
  };
  switch (panel.kind) {
    case PanelKind::kLines:
    case PanelKind::kPoints:
      expect("x", series.x.size(), n);
      break;
    case PanelKind::kBars:
    case PanelKind::kIntervals:
    case PanelKind::kMatrix:
      expect("categories", panel.categories.size(), n);
      break;
    case PanelKind::kParallel:
      expect("values of the first axis", panel.series.front().y.size(), n);
      if (!series.names.empty() && std::any_of(series.y.begin(), series.y.end(), [&](double value) {
            return std::isfinite(value) && (value < 0 || value >= static_cast<double>(series.names.size()));
          }))
        refuse(fmt::format("a value has none of the {} names", series.names.size()));
      break;
    case PanelKind::kHistogram:
      if (n == 0 && series.x.empty()) break;
      expect("edges of bins", series.x.size(), n + 1);
      if (std::adjacent_find(series.x.begin(), series.x.end(), std::greater_equal<>()) != series.x.end())
        refuse("the edges of bins do not rise");
  }
  if (!series.spread.empty()) expect("spreads", series.spread.size(), n);
  if (!series.spread_above.empty()) expect("spreads", series.spread.size(), n);
  if (!series.spread_above.empty()) expect("spreads above", series.spread_above.size(), n);
}

void check(const Figure& figure) {
  if (figure.panels.empty()) fail(fmt::format("chart {}: has no panels", in_quotes(figure.title)));
  if (figure.columns < 1)
    fail(fmt::format("chart {}: {} columns, at least 1 is needed", in_quotes(figure.title), figure.columns));
}

bool has_data(const Panel& panel, const Series& series) {
  for (size_t i = 0; i < series.y.size(); ++i) {
    if (is_shown(panel, series, i)) return true;
  }
  return false;
}

bool has_data(const Panel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [&](const Series& series) { return has_data(panel, series); });
}

// What stands below the x axis of bars, a matrix or parallel axes.
std::vector<std::string> column_names(const Panel& panel) {
  if (panel.kind != PanelKind::kParallel) return panel.categories;
  std::vector<std::string> names;
  for (const Series& series : panel.series) names.push_back(series.name);
  return names;
}

bool names_aside(PanelKind kind) { return kind == PanelKind::kIntervals || kind == PanelKind::kMatrix; }

// From top to bottom.
std::vector<std::string> row_names(const Panel& panel) {
  if (panel.kind == PanelKind::kIntervals) return panel.categories;
  std::vector<std::string> names;
  for (const Series& series : panel.series) names.push_back(series.name);
  return names;
}

// Row i, from the top, is between n - i - 1 and n - i.
Axis names_axis(const std::vector<std::string>& names, double width) {
  Axis axis;
  const auto rows = static_cast<double>(names.size());
  axis.high = std::max(1.0, rows);
  for (size_t i = 0; i < names.size(); ++i) {
    axis.ticks.push_back(rows - static_cast<double>(i) - 0.5);
    axis.labels.push_back(fit_text(names[i], kTickSize, width));
  }
  return axis;
}

// With as many ticks as find room for their labels in a panel of this width.
Axis bottom_axis(const Extent& extent, bool log, double width) {
  for (int most = static_cast<int>(width / kTickRoom);; --most) {
    Axis axis = make_axis(extent.low, extent.high, log, std::max(1, most));
    double widest = 0;
    for (const std::string& label : axis.labels) widest = std::max(widest, text_width(label, kTickSize));
    if (most <= 1 || static_cast<double>(axis.ticks.size()) * (widest + 8) < kPlotShare * width) return axis;
  }
}

// The names below bars, each in lines that fit its place.
std::vector<std::vector<std::string>> category_lines(const Panel& panel, double plot_width) {
  const std::vector<std::string> names = column_names(panel);
  const double slot = plot_width / static_cast<double>(std::max<size_t>(1, names.size())) - 4;
  std::vector<std::vector<std::string>> lines;
  for (const std::string& category : names) {
    lines.push_back(wrap_text(category, kTickSize, slot));
    for (std::string& line : lines.back()) line = fit_text(line, kTickSize, slot);
  }
  return lines;
}

// How many lines of text stand right below the x axis.
size_t label_lines(const Panel& panel, double plot_width) {
  size_t most = 1;
  if (!names_below(panel.kind)) return most;
  for (const auto& lines : category_lines(panel, plot_width)) most = std::max(most, lines.size());
  return most;
}

// From the x axis to the feet of its name.
double x_label_depth(size_t lines) {
  return 12 + kTickSize * kLineHeight * static_cast<double>(lines) + kLabelSize;
}

void draw_categories(Svg& svg, const Panel& panel, const Plot& plot) {
  const auto labels = category_lines(panel, plot.width);
  for (size_t c = 0; c < labels.size(); ++c) {
    const double x =
        plot.left + plot.width * (static_cast<double>(c) + 0.5) / static_cast<double>(labels.size());
    double y = plot.bottom() + kTickSize + 6;
    for (const std::string& line : labels[c]) {
      svg.text({x, y}, line, {.size = kTickSize, .anchor = Anchor::kMiddle, .color = kTickColor});
      y += kTickSize * kLineHeight;
    }
  }
}

void draw_x_ticks(Svg& svg, const Plot& plot) {
  for (const double value : plot.x.minor) {
    svg.line({plot.at_x(value), plot.bottom()}, {plot.at_x(value), plot.bottom() + 3}, kAxisLine);
  }
  for (size_t i = 0; i < plot.x.ticks.size(); ++i) {
    const double x = plot.at_x(plot.x.ticks[i]);
    svg.line({x, plot.top}, {x, plot.bottom()}, kGrid);
    svg.line({x, plot.bottom()}, {x, plot.bottom() + 5}, kAxisLine);
    svg.text({x, plot.bottom() + kTickSize + 7}, plot.x.labels[i],
             {.size = kTickSize, .anchor = Anchor::kMiddle, .color = kTickColor});
  }
}

void draw_y_ticks(Svg& svg, const Plot& plot, bool grid) {
  for (const double value : plot.y.minor) {
    svg.line({plot.left - 3, plot.at_y(value)}, {plot.left, plot.at_y(value)}, kAxisLine);
  }
  for (size_t i = 0; i < plot.y.ticks.size(); ++i) {
    const double y = plot.at_y(plot.y.ticks[i]);
    if (grid) svg.line({plot.left, y}, {plot.left + plot.width, y}, kGrid);
    svg.text({plot.left - 7, y + 0.36 * kTickSize}, plot.y.labels[i],
             {.size = kTickSize, .anchor = Anchor::kEnd, .color = kTickColor});
  }
}

nlohmann::ordered_json numbers(const std::vector<double>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const double value : values) {
    if (!std::isfinite(value)) {
      list.push_back(nullptr);
    } else {
      list.push_back(parse_number(fmt::format("{:.6g}", value)).value_or(value));
    }
  }
  return list;
}

// What a page needs to show values under the pointer.
nlohmann::ordered_json panel_json(const Panel& panel, const Plot& plot, const Looks& looks) {
  const auto axis = [](const Axis& each) { return nlohmann::ordered_json{each.low, each.high, each.log}; };
  nlohmann::ordered_json json{{"kind", panel_kinds()[static_cast<size_t>(panel.kind)]},
                              {"box", numbers({plot.left, plot.top, plot.width, plot.height})},
                              {"inset", plot.inset},
                              {"x", axis(plot.x)},
                              {"y", axis(plot.y)},
                              {"x_label", panel.x_label},
                              {"y_label", panel.y_label},
                              {"categories", panel.categories},
                              {"series", nlohmann::ordered_json::array()}};
  if (panel.kind == PanelKind::kParallel) json["axes"] = parallel_json(panel);
  for (const Series& series : panel.series) {
    const auto look = looks.find(series.name);
    json["series"].push_back({{"name", series.name},
                              {"place", look == looks.end() ? -1 : look->second.place},
                              {"x", numbers(series.x)},
                              {"y", numbers(series.y)},
                              {"spread", numbers(series.spread)},
                              {"spread_above", numbers(series.spread_above)}});
  }
  return json;
}

// How much of a figure a drawing has.
enum class Frame {
  kWhole,  // title and legend too
  kPanel,  // one panel for a page, which has these itself
};

// So wide that most names below it can be read.
double page_width(const Panel& panel) {
  if (panel.kind == PanelKind::kIntervals) {
    double widest = 0;
    for (const std::string& name : panel.categories) widest = std::max(widest, text_width(name, kTickSize));
    return std::clamp(kNarrowestPanel + widest, kPageWidth, kWidestIntervals);
  }
  if (!names_below(panel.kind)) return kPageWidth;
  double slot = panel.kind == PanelKind::kParallel ? kNarrowestAxis : 0;
  for (const std::string& name : column_names(panel)) {
    for (const std::string& word : split(name, ' '))
      slot = std::max(slot, std::min(kWidestName, text_width(word, kTickSize) + 8));
  }
  return std::clamp(slot * static_cast<double>(column_names(panel).size()) + 80, kPageWidth, kFigureWidth);
}

// Panels whose axes have numbers, of which a page can show a part.
bool can_zoom(PanelKind kind) {
  return kind == PanelKind::kLines || kind == PanelKind::kPoints || kind == PanelKind::kHistogram;
}

struct LegendEntry {
  std::string name;
  PanelKind kind;
  Point at;
};

// Where everything stands. All panels have the same margins, so that their axes are in line.
class Layout {
 public:
  // `looks` are those of the whole figure, where this is a part of it.
  Layout(const Figure& figure, Frame frame, Looks looks = {})
      : figure_(figure),
        frame_(frame),
        columns_(std::min<int>(figure.columns, static_cast<int>(figure.panels.size()))),
        panel_width_(frame == Frame::kPanel ? page_width(figure.panels.front()) - kMargin
                                            : std::max(kNarrowestPanel, (kFigureWidth - kMargin) / columns_)),
        width_(kMargin + columns_ * panel_width_),
        looks_(std::move(looks)) {
    for (const Panel& panel : figure.panels) add(panel);
    place_legend();
    place_plots();
  }

  double width() const { return width_; }
  const Looks& looks() const { return looks_; }
  nlohmann::ordered_json values() const { return panel_json(figure_.panels[0], plots_[0], looks_); }

  std::vector<LegendItem> legend() const {
    std::vector<LegendItem> items;
    for (const LegendEntry& entry : legend_) {
      Svg swatch;
      draw_swatch(swatch, entry.kind, looks_.at(entry.name), {0, 7});
      items.push_back({entry.name, looks_.at(entry.name).place,
                       swatch.piece(kSwatchWidth, 14, "class=\"swatch\" aria-hidden=\"true\"")});
    }
    return items;
  }

  std::string draw() const {
    Svg svg;
    if (frame_ == Frame::kWhole) draw_head(svg);
    for (size_t p = 0; p < plots_.size(); ++p) draw_panel(svg, figure_.panels[p], plots_[p]);
    return svg.document(width_, height_, figure_.title, figure_.description);
  }

 private:
  // Title and legend.
  void draw_head(Svg& svg) const {
    svg.text({kMargin, kMargin + 0.9 * kTitleSize},
             fit_text(figure_.title, kTitleSize, (width_ - 2 * kMargin) / kBoldness),
             {.size = kTitleSize, .bold = true});
    for (const LegendEntry& entry : legend_) {
      svg.begin_group(fmt::format("class=\"legend\" data-series=\"{}\"", looks_.at(entry.name).place));
      draw_swatch(svg, entry.kind, looks_.at(entry.name), entry.at);
      svg.text({entry.at.x + kSwatchWidth + 6, entry.at.y + 0.36 * kLabelSize}, legend_text(entry.name),
               {.size = kLabelSize});
      svg.end_group();
    }
  }

  // Takes up a panel's names and scales.
  void add(const Panel& panel) {
    for (const Series& series : panel.series) {
      check(panel, series);
      const bool has_colors = panel.kind != PanelKind::kMatrix && panel.kind != PanelKind::kParallel;
      if (!has_colors) continue;
      looks_.try_emplace(series.name, look_of(static_cast<int>(looks_.size())));
      const bool listed = std::any_of(legend_.begin(), legend_.end(),
                                      [&](const LegendEntry& entry) { return entry.name == series.name; });
      if (!series.name.empty() && !listed && has_data(panel, series))
        legend_.push_back({series.name, panel.kind, {}});
    }
    Extent x = x_extent(panel), y = y_extent(panel);
    if (panel.diagonal && !y.empty()) {
      for (const double value : {y.low, y.high}) x.include(value);
    }
    Plot plot;
    plot.x = x.empty() ? bottom_axis({0, 1}, false, panel_width_) : bottom_axis(x, panel.log_x, panel_width_);
    if (panel.diagonal && !x.empty()) y = {plot.x.low, plot.x.high};
    plot.y = panel.kind == PanelKind::kParallel ? Axis{}
             : names_aside(panel.kind)          ? names_axis(row_names(panel), kMostNameWidth * panel_width_)
             : y.empty()                        ? make_axis(0, 1, false, kMostRows)
                         : make_axis(y.low, y.high, panel.log_y, panel.log_y ? kMostDecades : kMostRows);
    plot.inset = panel.kind == PanelKind::kLines || panel.kind == PanelKind::kPoints ? kInset : 0;
    plots_.push_back(std::move(plot));
  }

  std::string legend_text(const std::string& name) const {
    return fit_text(name, kLabelSize, width_ - 2 * kMargin - kSwatchWidth - 6);
  }

  // In rows below the title; one name alone needs none.
  void place_legend() {
    if (legend_.size() < 2) legend_.clear();
    if (frame_ == Frame::kPanel) return;
    top_ = kMargin + (figure_.title.empty() ? 0 : kTitleSize * kLineHeight + 4);
    double x = kMargin;
    for (LegendEntry& entry : legend_) {
      const double width = kSwatchWidth + 6 + text_width(legend_text(entry.name), kLabelSize);
      const bool next_row = x > kMargin && x + width > width_ - kMargin;
      if (next_row) top_ += kLegendRow;
      if (next_row) x = kMargin;
      entry.at = {x, top_ + kLegendRow / 2};
      x += width + kLegendGap;
    }
    if (!legend_.empty()) top_ += kLegendRow + 4;
  }

  void place_plots() {
    // A page that shows a part of an axis has labels with more digits.
    const bool can_change = frame_ == Frame::kPanel && can_zoom(figure_.panels.front().kind);
    double tick_width = can_change ? text_width("0.000", kTickSize) : 0;
    bool has_x_label = false, has_y_label = false, has_title = false;
    for (size_t p = 0; p < plots_.size(); ++p) {
      for (const std::string& label : plots_[p].y.labels)
        tick_width = std::max(tick_width, text_width(label, kTickSize));
      has_x_label = has_x_label || !figure_.panels[p].x_label.empty();
      has_y_label = has_y_label || !figure_.panels[p].y_label.empty();
      has_title = has_title || !figure_.panels[p].title.empty();
    }
    const double before = (has_y_label ? kLabelSize + 10 : 0) + tick_width + 8;
    const double plot_width = panel_width_ - 1.5 * kMargin - before;
    size_t lines = 1;
    for (const Panel& panel : figure_.panels) lines = std::max(lines, label_lines(panel, plot_width));
    const double above = 6 + (has_title ? kPanelTitleSize + 12 : 6);
    const double below = x_label_depth(lines) + (has_x_label ? 4 : -kLabelSize);
    const bool only_intervals =
        std::all_of(figure_.panels.begin(), figure_.panels.end(),
                    [](const Panel& panel) { return panel.kind == PanelKind::kIntervals; });
    double plot_height = only_intervals ? kFewestRows * kNameRow : 70 + 0.32 * panel_width_;
    for (const Panel& panel : figure_.panels) {
      if (!names_aside(panel.kind)) continue;
      const bool several = panel.kind == PanelKind::kIntervals && panel.series.size() > 1;
      const double row = kNameRow + (several ? kSeriesRow * static_cast<double>(panel.series.size() - 1) : 0);
      plot_height = std::max(plot_height, row * static_cast<double>(row_names(panel).size()));
    }
    const double panel_height = above + plot_height + below + kMargin / 2;
    for (size_t p = 0; p < plots_.size(); ++p) {
      const size_t row = p / columns_, column = p % columns_;
      plots_[p].left = kMargin + static_cast<double>(column) * panel_width_ + before;
      plots_[p].top = top_ + static_cast<double>(row) * panel_height + above;
      plots_[p].width = plot_width;
      plots_[p].height = plot_height;
    }
    y_label_left_ = before;
    const size_t rows = (plots_.size() + columns_ - 1) / columns_;
    height_ = top_ + kMargin / 2 + panel_height * static_cast<double>(rows);
  }

  void draw_panel(Svg& svg, const Panel& panel, const Plot& plot) const {
    const double middle = plot.left + plot.width / 2;
    const double left = plot.left - y_label_left_;
    svg.text({left, plot.top - 10},
             fit_text(panel.title, kPanelTitleSize, (plot.left + plot.width - left) / kBoldness),
             {.size = kPanelTitleSize, .bold = true});
    svg.text({left + kLabelSize, plot.top + plot.height / 2},
             fit_text(panel.y_label, kLabelSize, plot.height),
             {.size = kLabelSize, .anchor = Anchor::kMiddle, .upwards = true});
    svg.text({middle, plot.bottom() + x_label_depth(label_lines(panel, plot.width))},
             fit_text(panel.x_label, kLabelSize, plot.width),
             {.size = kLabelSize, .anchor = Anchor::kMiddle});
    const bool has_window = frame_ == Frame::kPanel && can_zoom(panel.kind) && has_data(panel);
    if (has_window) svg.begin_group("class=\"ticks\"");
    draw_y_ticks(svg, plot, panel.kind != PanelKind::kMatrix);
    if (names_below(panel.kind)) {
      draw_categories(svg, panel, plot);
    } else {
      draw_x_ticks(svg, plot);
    }
    if (has_window) svg.end_group();
    if (!has_data(panel)) {
      svg.text({middle, plot.top + plot.height / 2}, "no data",
               {.size = kLabelSize, .anchor = Anchor::kMiddle, .color = kTickColor});
    } else {
      if (has_window) svg.begin_window({plot.left, plot.top}, plot.width, plot.height);
      draw_marks(svg, panel, plot, looks_);
      if (has_window) svg.end_window();
    }
    if (panel.kind == PanelKind::kParallel) return;  // has axes of its own
    svg.line({plot.left, plot.bottom()}, {plot.left + plot.width, plot.bottom()}, kAxisLine);
    svg.line({plot.left, plot.top}, {plot.left, plot.bottom()}, kAxisLine);
  }

  const Figure& figure_;
  Frame frame_;
  int columns_;
  double panel_width_, width_;
  double height_ = 0, top_ = 0;  // of the figure; of the first row of panels
  double y_label_left_ = 0;      // from the y axis
  std::vector<Plot> plots_;
  Looks looks_;
  std::vector<LegendEntry> legend_;
};

}  // namespace

DrawnFigure draw_figure(const Figure& figure) {
  check(figure);
  const Layout whole(figure, Frame::kWhole);
  DrawnFigure drawn{{}, whole.legend()};
  for (const Panel& panel : figure.panels) {
    const bool named = !panel.title.empty() && panel.title != figure.title;
    const Figure alone{
        named ? figure.title + ": " + panel.title : figure.title, figure.description, {panel}, 1};
    const Layout layout(alone, Frame::kPanel, whole.looks());
    const std::string document = layout.draw();
    drawn.panels.push_back({document.substr(document.find("<svg")), layout.width(), layout.values()});
  }
  return drawn;
}

std::string to_svg(const Figure& figure) {
  check(figure);
  return Layout(figure, Frame::kWhole).draw();
}

}  // namespace qw
