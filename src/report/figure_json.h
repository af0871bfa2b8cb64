// Figures as JSON: the fields of qw/report/chart.h by their names.
//
//   {"title": "Loss", "panels": [{"kind": "lines", "x_label": "epoch",
//     "series": [{"name": "train", "x": [0, 1], "y": [0.7, 0.5]}]}]}
//
// What is not given has its default; `null` is a number that is missing. A figure of one panel may have the
// panel's fields beside its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "qw/report/chart.h"

namespace qw {

// Throws qw::Error that begins with `file` on an unknown field or one of the wrong kind.
Figure figure_from_json(const nlohmann::ordered_json& document, const std::string& file);

const std::vector<std::string>& panel_kinds();  // "lines", "points", ..., in the order of PanelKind

}  // namespace qw
