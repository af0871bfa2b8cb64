#include "report/stored_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/manifest.h"
#include "core/safetensors.h"
#include "qw/core/error.h"

namespace qw {
namespace {

constexpr double kRounding = 1e-7;  // flows are stored as float32

}  // namespace

StoredFlow read_flow(const std::filesystem::path& file, const TrainedOn& trained_on) {
  const std::filesystem::path folder = file.parent_path();
  if (Manifest::exists_in(folder)) Manifest::read(folder).check(file.filename());
  const SafetensorsFile stored = SafetensorsFile::read(file);
  const std::vector<int64_t>& shape = stored.get("flow").shape;
  EdgeList edges{
      trained_on.graph.num_nodes(), stored.values<NodeId>("heads"), stored.values<NodeId>("tails"), {}, {}};
  StoredFlow flow{{}, trained_on.targets.width, stored.values<float>("flow")};
  const auto count = static_cast<int64_t>(edges.heads.size());
  const bool fits = shape.size() == 2 && shape[0] == count && shape[1] == flow.columns &&
                    edges.tails.size() == edges.heads.size();
  const auto refuse = [&] {
    fail(fmt::format("{}: is no flow on the graph of the training", file.string()));
  };
  if (!fits) refuse();
  const std::vector<NodeId> heads = edges.heads, tails = edges.tails;
  flow.graph = Graph::build(std::move(edges),
                            {trained_on.graph.directed(), EdgePolicy::kKeep, EdgePolicy::kKeep, false});
  // Edges of a graph are sorted: another order would give values to other edges.
  const bool same = std::equal(heads.begin(), heads.end(), flow.graph.heads().begin()) &&
                    std::equal(tails.begin(), tails.end(), flow.graph.tails().begin());
  if (!same) refuse();
  return flow;
}

std::vector<ColumnPath> largest_paths(const StoredFlow& flow, size_t most) {
  std::vector<ColumnPath> largest;
  const auto larger = [](const ColumnPath& a, const ColumnPath& b) { return a.path.amount > b.path.amount; };
  for (int64_t column = 0; column < flow.columns; ++column) {
    std::vector<double> values(flow.graph.num_edges());
    double limit = 0;
    for (size_t e = 0; e < values.size(); ++e) {
      values[e] = flow.values[e * flow.columns + column];
      limit = std::max(limit, std::fabs(values[e]));
    }
    if (limit == 0) continue;
    for (FlowPath& path : decompose_flow(flow.graph, values, kRounding * limit).paths)
      largest.push_back({column, std::move(path)});
    std::stable_sort(largest.begin(), largest.end(), larger);
    largest.resize(std::min(most, largest.size()));
  }
  return largest;
}

}  // namespace qw
