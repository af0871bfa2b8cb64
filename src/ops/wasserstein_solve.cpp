#include "ops/wasserstein_solve.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/work.h"
#include "qw/core/error.h"
#include "qw/graph/graph.h"
#include "qw/transport/wasserstein.h"

namespace qw::ops {
namespace {

using at::Tensor;

constexpr const char* kOp = "qw::wasserstein1_partial";

template <class T>
std::span<const T> elements(const Tensor& contiguous) {
  return {contiguous.data_ptr<T>(), static_cast<size_t>(contiguous.numel())};
}

template <class T>
std::vector<T> copied(const Tensor& contiguous) {
  const std::span<const T> from = elements<T>(contiguous);
  return {from.begin(), from.end()};
}

Tensor in_double(const Tensor& given) { return given.to(at::kDouble).contiguous(); }

void check_finite(const char* name, const Tensor& rows) {
  const std::span<const double> values = elements<double>(rows);
  const auto bad = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const int64_t position = bad - values.begin();
  TORCH_CHECK(false, kOp, ": ", name, " must be finite, got ", *bad, " in row ", position / rows.size(1),
              ", column ", position % rows.size(1));
}

Graph graph_of(const TransportTensors& problem) {
  EdgeList edges;
  edges.num_nodes = problem.num_nodes;
  edges.heads = copied<NodeId>(problem.heads);
  edges.tails = copied<NodeId>(problem.tails);
  edges.costs = copied<double>(in_double(problem.costs));
  GraphOptions options;
  options.directed = problem.directed;
  return Graph::build(std::move(edges), options);
}

std::vector<TransportColumn> solve(const TransportTensors& problem, const Tensor& mu, const Tensor& gamma) {
  std::vector<TransportColumn> columns;
  try {
    const TransportPlan plan(graph_of(problem), elements<NodeId>(problem.labelled), problem.slack);
    columns = plan.solve(elements<double>(mu), elements<double>(gamma), mu.size(1));
  } catch (const qw::Error& error) {
    TORCH_CHECK(false, kOp, ": ", error.what());
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    const TransportObstacle& obstacle = columns[c].obstacle;
    TORCH_CHECK(columns[c].status != TransportStatus::kInfeasible, kOp,
                ": every part of the graph must be able to deliver, but in column ", c,
                " the part with node ", obstacle.node, " as its lowest, of ", obstacle.num_nodes,
                " labelled nodes, has an imbalance of ", obstacle.imbalance,
                " that finds no way; give a finite slack, the cost of such a unit");
  }
  return columns;
}

}  // namespace

std::tuple<Tensor, Tensor> solve_wasserstein1_partial(const Tensor& values, const Tensor& targets,
                                                      const TransportTensors& problem) {
  const Tensor mu = in_double(values);
  const Tensor gamma = in_double(targets);
  check_finite("values", mu);
  check_finite("targets", gamma);
  const std::vector<TransportColumn> columns = solve(problem, mu, gamma);

  const Tensor distance = at::empty({mu.size(1)}, mu.options());
  const Tensor potential = at::empty(mu.sizes(), mu.options());
  auto distances = distance.accessor<double, 1>();
  auto potentials = potential.accessor<double, 2>();
  const std::span<const NodeId> nodes = elements<NodeId>(problem.labelled);
  for (int64_t c = 0; c < mu.size(1); ++c) {
    distances[c] = columns[c].distance;
    for (int64_t row = 0; row < mu.size(0); ++row) potentials[row][c] = columns[c].potential[nodes[row]];
  }
  record_work(2 * problem.heads.numel() * mu.size(1), values, targets, problem.labelled, problem.heads,
              problem.tails, problem.costs, potential);
  return {distance.to(values.scalar_type()), potential.to(values.scalar_type())};
}

}  // namespace qw::ops
