// Charts as SVG: panels of lines, bars or histograms under one title and one legend.
//
// Colours are those of Okabe and Ito, which colour-blind readers can tell apart; lines have markers besides.
// The background is white, so that a figure reads on dark pages too. The same figure gives the same bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

enum class PanelKind {
  kLines,
  kBars,
  kHistogram,
};

enum class SpreadStyle {
  kBand,      // a shade along the line; bars and lone points get whiskers
  kWhiskers,  // one at every point
};

struct Series {
  std::string name{};  // series of one name, in whatever panels, have one colour and one entry in the legend
  std::vector<double> x{};  // kLines: [n] positions; kHistogram: [n + 1] rising edges of bins; kBars: empty
  std::vector<double> y{};  // [n]; kBars: one per category
  std::vector<double> spread{};  // [n] half widths around y, or empty; not of histograms
};

struct Panel {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  PanelKind kind = PanelKind::kLines;
  SpreadStyle spread_style = SpreadStyle::kBand;
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> categories{};  // kBars: the labels below; '\n' breaks their lines
  std::vector<Series> series{};
};

struct Figure {
  std::string title{};
  std::string description{};  // for readers who cannot see it: <desc>
  std::vector<Panel> panels{};
  int columns = 2;
};

// What is not finite, or not above 0 on a log axis, is left out, and a line has a gap there; a panel without
// anything says "no data". Throws qw::Error when there are no panels or columns, and, naming panel and
// series, when lengths do not fit or edges of bins do not rise.
std::string to_svg(const Figure& figure);

// Draws an SVG file as a PNG of twice its size, by the program rsvg-convert; throws qw::Error where that is
// not installed or fails.
void write_png(const std::filesystem::path& svg, const std::filesystem::path& png);

}  // namespace qw
