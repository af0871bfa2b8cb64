#include "qw/graph/node_explanation.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"

namespace qw {

std::string NodeAnswer::text() const {
  std::vector<std::string> parts = names;
  for (const double value : values) parts.push_back(std::isnan(value) ? "?" : fmt::format("{:.6g}", value));
  return parts.empty() ? "none" : join(parts, " ");
}

}  // namespace qw
