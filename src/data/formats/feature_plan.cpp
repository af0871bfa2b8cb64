#include "data/formats/feature_plan.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {

void FeaturePlan::add_number(size_t source, const std::string& name, double fill) {
  columns.push_back({source, static_cast<int64_t>(names.size()), fill});
  names.push_back(name);
}

Features read_planned(const NodeTableText& text, const FeaturePlan& plan, const PlannedCells& planned) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;
  std::vector<float> values;
  const auto put = [&](int64_t column, float value) {
    indices.push_back(static_cast<int32_t>(column));
    values.push_back(value);
  };
  for_rows(text, [&](const std::vector<std::string_view>& cells, int64_t line) {
    for (const FeatureColumn& column : plan.columns) {
      const std::string_view cell = cells[column.source];
      const bool missing = text.missing.contains(cell);
      if (column.is_text) {
        const auto found = missing ? column.category.end() : column.category.find(cell);
        if (found != column.category.end()) {
          put(found->second, 1.0f);
        } else if (!missing) {
          planned.unseen(column, cell);
        }
        continue;
      }
      const double number = missing ? column.fill : planned.number(column, cell, line);
      if (std::abs(number) > std::numeric_limits<float>::max())
        fail_at_line(text.label(), line, fmt::format("{} is too large for a feature", in_quotes(cell)));
      if (number != 0.0) put(column.first, static_cast<float>(number));
    }
    offsets.push_back(static_cast<int64_t>(indices.size()));
  });
  Features features = features_from_rows(static_cast<int64_t>(plan.names.size()), std::move(offsets),
                                         std::move(indices), std::move(values));
  features.names = plan.names;
  return features;
}

}  // namespace qw
