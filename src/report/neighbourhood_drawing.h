// A node and those around it as SVG.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qw/graph/node_explanation.h"

namespace qw {

struct NeighbourhoodDrawing {
  std::string title, description;  // its text alternative
  std::string svg;
  std::vector<std::vector<std::string>> nodes;  // [id, part, training label, prediction]
  std::vector<std::vector<std::string>> edges;  // [from, to, weight, what transport moves]
  nlohmann::ordered_json marks;                 // [{"x", "y", "text"}]: what the page shows under the pointer
};

// Of a neighbourhood with positions. A node's colour is the class that it trained with or, of others, the one
// that is predicted; its shape says its part. Grey lines are edges, arrows what transport moves of `column`.
NeighbourhoodDrawing draw_neighbourhood(const Neighbourhood& around, const std::string& column);

}  // namespace qw
