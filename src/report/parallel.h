// Parallel coordinates: an axis for each series, a line across them for each entry.
#pragma once

#include <nlohmann/json.hpp>

#include "qw/report/chart.h"
#include "report/marks.h"
#include "report/svg.h"

namespace qw {

// The scale of each series, from the bottom up: its names in their order, or its numbers. These are on a
// log axis where all are above 0 and the largest is a hundred times the smallest or more.
std::vector<Axis> parallel_axes(const Panel& panel);

// Axes stand in the middle of equal slots, as bars do. The first entry stands out, later ones fade.
void draw_parallel(Svg& svg, const Panel& panel, const Plot& plot);

// [{"low", "high", "log", "names"}] of the axes.
nlohmann::ordered_json parallel_json(const Panel& panel);

}  // namespace qw
