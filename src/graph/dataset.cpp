#include "qw/graph/dataset.h"

#include <fmt/format.h>

#include "qw/core/error.h"

namespace qw {

std::string Dataset::node_id(NodeId node) const {
  return node_ids.empty() ? std::to_string(node) : node_ids[node];
}

void check_consistent(const Dataset& dataset) {
  const int64_t nodes = dataset.graph.num_nodes();
  const auto check = [&](int64_t count, const char* what) {
    if (count != nodes) {
      fail(fmt::format("{}: the graph has {} nodes but there are {} {}", dataset.name, nodes, count, what));
    }
  };
  if (dataset.features.columns > 0) check(dataset.features.rows, "rows of features");
  if (dataset.targets.task != Task::kNone) check(dataset.targets.size(), "targets");
  if (!dataset.node_ids.empty()) check(static_cast<int64_t>(dataset.node_ids.size()), "node ids");
  if (dataset.targets.task == Task::kNone) return;
  for (const Split& split : dataset.splits) check_split(split, dataset.targets);
}

}  // namespace qw
