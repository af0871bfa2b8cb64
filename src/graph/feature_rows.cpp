#include "graph/feature_rows.h"

namespace qw {

Features rows_of(const Features& features, const std::vector<NodeId>& nodes) {
  Features rows{static_cast<int64_t>(nodes.size()), features.columns, features.sparse, {}, {}, {}, {}, {}};
  if (features.sparse) rows.offsets.push_back(0);
  for (const NodeId node : nodes) {
    if (features.sparse) {
      const int64_t begin = features.offsets[node], end = features.offsets[node + 1];
      rows.indices.insert(rows.indices.end(), features.indices.begin() + begin,
                          features.indices.begin() + end);
      rows.values.insert(rows.values.end(), features.values.begin() + begin, features.values.begin() + end);
      rows.offsets.push_back(static_cast<int64_t>(rows.indices.size()));
    } else {
      const auto begin = features.dense.begin() + node * features.columns;
      rows.dense.insert(rows.dense.end(), begin, begin + features.columns);
    }
  }
  return rows;
}

}  // namespace qw
