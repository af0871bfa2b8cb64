#include "data/missing_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "qw/core/error.h"

namespace qw {

void add_missing_features(Dataset& dataset, const std::string& how, const StructureOptions& options) {
  if (dataset.features.columns > 0) {
    if (how == "degree" || how == "constant") {
      fail_usage(fmt::format("--missing-features {} is for data without features; {} has {} columns of them",
                             how, in_quotes(dataset.name), dataset.features.columns));
    }
    return;
  }
  if (how == "none") return;
  dataset.made_features = true;
  if (how == "constant") {
    dataset.features = constant_features(dataset.graph.num_nodes());
    return;
  }
  dataset.features = structure_features(dataset.graph, options);
  const std::vector<std::string>& names = dataset.features.names;
  const bool clustered = std::find(names.begin(), names.end(), "clustering") != names.end();
  dataset.notes.push_back(fmt::format(
      "there are no features; made from the graph: {}{}; --missing-features constant uses none of it",
      join(names, ", "), clustered ? "" : " (clustering is left out, since there are so many edges)"));
}

}  // namespace qw
