#include "study/fit/fit_scaling.h"

#include "graph/feature_rows.h"
#include "study/fit/portfolio.h"

namespace qw {

FeatureScaling scaling_for_fit(const Dataset& dataset, const std::string& kind) {
  if (kind != "auto" || !dataset.of_paper) return FeatureScaling(kind, dataset);
  Dataset about;  // what is not the paper's
  about.format = dataset.format;
  ColumnSums sums;
  if (FeatureScaling::needs_sums(kind, about)) {
    sums.add(dataset.features);
    sums.add_squares(dataset.features);
  }
  return {kind, about, dataset.features.sparse, sums};
}

double rate_for(const Dataset& dataset, const FeatureScaling& scaling) {
  constexpr int64_t kSeen = 1000;  // nodes
  constexpr double kSmall = 0.1;   // mean square
  if (dataset.targets.task == Task::kRegression || dataset.features.columns == 0) return kUsualRate;
  std::vector<NodeId> nodes;
  const int64_t stride = 1 + dataset.features.rows / kSeen;
  for (int64_t node = 0; node < dataset.features.rows; node += stride)
    nodes.push_back(static_cast<NodeId>(node));
  const Features some = scaling.apply(rows_of(dataset.features, nodes));
  double squares = 0;
  for (const float value : some.sparse ? some.values : some.dense)
    squares += static_cast<double>(value) * value;
  return squares < kSmall * static_cast<double>(some.rows * some.columns) ? kHighRate : kUsualRate;
}

}  // namespace qw
