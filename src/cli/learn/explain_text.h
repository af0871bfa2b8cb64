// An explanation as text for the terminal.
#pragma once

#include <string>

#include "qw/graph/node_explanation.h"

namespace qw::cli {

// Scores, and for each class, label or value that is explained the paths, neighbours, columns and labels.
std::string explanation_text(const NodeExplanation& explanation, const std::string& solver);

}  // namespace qw::cli
