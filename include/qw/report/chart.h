// Charts as SVG: panels of lines, points, bars, histograms, intervals, a matrix or parallel axes under one
// title and one legend.
//
// Colours are those of Okabe and Ito, which colour-blind readers can tell apart; lines have markers besides.
// The background is white, so that a figure reads on dark pages too. The same figure gives the same bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

// What a panel draws of its series.
enum class PanelKind {
  kLines,
  kPoints,
  kBars,
  kHistogram,
  kIntervals,  // names down the side, and values with their spreads beside them
  kMatrix,     // a row for each series, a column for each category, a shade and a number for each value
  kParallel,   // an axis for each series, a line across them for each entry; the first entry stands out
};

// How half widths around values are drawn.
enum class SpreadStyle {
  kBand,      // a shade along the line; bars and lone points get whiskers
  kWhiskers,  // one at every point
};

// Numbers that share a name and a colour.
struct Series {
  std::string name{};  // series of one name, in whatever panels, have one colour and one entry in the legend
  std::vector<double>
      x{};  // kLines, kPoints: [n] positions; kHistogram: [n + 1] rising edges of bins; else none
  std::vector<double> y{};           // [n]; kBars, kIntervals, kMatrix: one per category
  std::vector<double> spread{};      // [n] half widths around y, or empty; not of histograms
  bool thin = false;                 // of kLines: pale and below the others, as one of many beside their mean
  std::vector<std::string> names{};  // kParallel: of the values 0, 1, 2, ... where y stands for text
  // [n] where intervals are not even: widths above y, while `spread` is those below; else empty.
  std::vector<double> spread_above{};
};

// One pair of axes.
struct Panel {
  std::string title{};                            // above it
  std::string x_label{};                          // below it
  std::string y_label{};                          // left of it
  PanelKind kind = PanelKind::kLines;             // of all its series
  SpreadStyle spread_style = SpreadStyle::kBand;  // of all its series
  bool log_x = false;                             // logarithmic axis
  bool log_y = false;                             // logarithmic axis
  bool diagonal = false;                          // a thin line where y = x; axes have the same ends
  std::vector<double> x_reach{};                  // values that the axis reaches, whatever is drawn
  std::vector<double> y_reach{};                  // values that the axis reaches, whatever is drawn
  std::vector<std::string> categories{};          // names, where the kind has them; '\n' breaks lines below
  std::vector<Series> series{};                   // drawn in this order
};

// Panels side by side, row by row.
struct Figure {
  std::string title{};          // above all panels
  std::string description{};    // for readers who cannot see it: <desc>
  std::vector<Panel> panels{};  // from left to right, from top to bottom
  int columns = 2;              // panels in a row
};

// What is not finite, or not above 0 on a log axis, is left out, and a line has a gap there; a panel without
// anything says "no data". Throws qw::Error when there are no panels or columns, and, naming panel and
// series, when lengths do not fit or edges of bins do not rise.
std::string to_svg(const Figure& figure);

// Draws an SVG file as a PNG of twice its size, by the program rsvg-convert; throws qw::Error where that is
// not installed or fails.
void write_png(const std::filesystem::path& svg, const std::filesystem::path& png);

}  // namespace qw
