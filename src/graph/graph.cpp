#include "qw/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/raw_vector.h"
#include "graph/counting_sort.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"

namespace qw {

struct Graph::Storage {
  int64_t num_nodes = 0;
  bool directed = false;
  RawVector<NodeId> heads;
  RawVector<NodeId> tails;
  std::vector<double> costs;
  std::vector<double> weights;

  struct Rows {
    std::vector<int64_t> offsets;
    RawVector<NodeId> neighbours;
    RawVector<EdgeId> edges;
    Adjacency view() const { return {offsets, neighbours, edges}; }
  };
  Rows out;  // of an undirected graph: both directions
  Rows in;   // directed only
};

namespace {

constexpr int64_t kGrain = 1 << 16;

void check_edges(const EdgeList& edges) {
  if (edges.num_nodes < 0 || edges.num_nodes > kMaxNodes) {
    fail(fmt::format("a graph has 0 to {} nodes, not {}", kMaxNodes, edges.num_nodes));
  }
  const size_t count = edges.heads.size();
  if (edges.tails.size() != count || (!edges.costs.empty() && edges.costs.size() != count) ||
      (!edges.weights.empty() && edges.weights.size() != count)) {
    fail(fmt::format("an edge list has one head, tail, cost and weight per edge, not {}, {}, {} and {}",
                     count, edges.tails.size(), edges.costs.size(), edges.weights.size()));
  }
  const auto is_node = [&](NodeId node) { return node >= 0 && node < edges.num_nodes; };
  parallel_for(static_cast<int64_t>(count), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      if (!is_node(edges.heads[e]) || !is_node(edges.tails[e])) {
        fail(fmt::format("edge {} joins nodes {} and {}, but nodes are 0 to {}", e, edges.tails[e],
                         edges.heads[e], edges.num_nodes - 1));
      }
    }
  });
  for (size_t e = 0; e < edges.costs.size(); ++e) {
    if (!(edges.costs[e] >= 0) || std::isinf(edges.costs[e])) {
      fail(fmt::format("edge {} costs {}; a cost is finite and not negative", e, edges.costs[e]));
    }
  }
  for (size_t e = 0; e < edges.weights.size(); ++e) {
    if (!std::isfinite(edges.weights[e])) {
      fail(fmt::format("edge {} weighs {}; a weight is finite", e, edges.weights[e]));
    }
  }
}

// The given edges, oriented, without self-loops if asked, and where each came from (only when somebody needs
// it).
struct Oriented {
  std::vector<NodeId> heads;
  std::vector<NodeId> tails;
  std::vector<EdgeId> given;
};

Oriented orient(EdgeList& edges, const GraphOptions& options, bool track, BuildReport& report) {
  Oriented result{std::move(edges.heads), std::move(edges.tails), {}};
  const auto count = static_cast<EdgeId>(result.heads.size());
  std::atomic<int64_t> self_loops{0};
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (EdgeId e = begin; e < end; ++e) {
      found += result.heads[e] == result.tails[e];
      if (!options.directed && result.heads[e] > result.tails[e]) std::swap(result.heads[e], result.tails[e]);
    }
    self_loops += found;
  });
  report.self_loops = self_loops;
  if (track) {
    result.given.resize(count);
    std::iota(result.given.begin(), result.given.end(), EdgeId{0});
  }
  if (self_loops == 0 || options.self_loops == EdgePolicy::kKeep) return result;

  EdgeId kept = 0;
  for (EdgeId e = 0; e < count; ++e) {
    if (result.heads[e] == result.tails[e]) {
      if (options.self_loops == EdgePolicy::kDrop) continue;
      fail(fmt::format("edge {} joins node {} to itself", e, result.heads[e]));
    }
    result.heads[kept] = result.heads[e];
    result.tails[kept] = result.tails[e];
    if (track) result.given[kept] = e;
    ++kept;
  }
  result.heads.resize(kept);
  result.tails.resize(kept);
  if (track) result.given.resize(kept);
  return result;
}

// Edges in rows by head, tails ascending within a row, equal edges in the order given.
struct SortedRows {
  std::vector<int64_t> offsets;
  RawVector<NodeId> tails;
  RawVector<EdgeId> given;
};

SortedRows sort_edges(Oriented edges, int64_t num_nodes) {
  // Two stable counting sorts, by tail and then by head; the key of each is implied by the rows it leaves.
  const std::vector<int64_t> by_tail = row_offsets(edges.tails, num_nodes);
  const RawVector<NodeId> heads = scatter_to_rows<NodeId>(edges.tails, by_tail, edges.heads);
  const RawVector<EdgeId> given = scatter_to_rows<EdgeId>(edges.tails, by_tail, edges.given);
  edges.heads = {};
  edges.given = {};
  fill_row_numbers(by_tail, edges.tails);

  SortedRows rows;
  rows.offsets = row_offsets(heads, num_nodes);
  rows.tails = scatter_to_rows<NodeId>(heads, rows.offsets, edges.tails);
  rows.given = scatter_to_rows<EdgeId>(heads, rows.offsets, given);
  return rows;
}

// Removes repeated edges within rows; first[k] is where kept edge k stands in `rows`.
RawVector<EdgeId> mark_first(const SortedRows& rows, const GraphOptions& options, BuildReport& report) {
  const auto num_nodes = static_cast<int64_t>(rows.offsets.size()) - 1;
  std::vector<int64_t> unique(num_nodes + 1, 0);
  const auto repeats = [&](int64_t row, EdgeId at) {
    return at > rows.offsets[row] && rows.tails[at] == rows.tails[at - 1];
  };
  parallel_for(num_nodes, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (EdgeId at = rows.offsets[row]; at < rows.offsets[row + 1]; ++at)
        unique[row + 1] += !repeats(row, at);
    }
  });
  for (int64_t row = 0; row < num_nodes; ++row) {
    const int64_t size = rows.offsets[row + 1] - rows.offsets[row];
    if (options.duplicates == EdgePolicy::kError && unique[row + 1] != size) {
      EdgeId at = rows.offsets[row];
      while (!repeats(row, at)) ++at;
      fail(fmt::format("the edge between nodes {} and {} is given more than once", row, rows.tails[at]));
    }
    unique[row + 1] += unique[row];
  }
  report.duplicates = static_cast<int64_t>(rows.tails.size()) - unique[num_nodes];

  RawVector<EdgeId> first;
  if (report.duplicates == 0 || options.duplicates == EdgePolicy::kKeep) return first;
  first.resize(unique[num_nodes]);
  parallel_for(num_nodes, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      EdgeId next = unique[row];
      for (EdgeId at = rows.offsets[row]; at < rows.offsets[row + 1]; ++at) {
        if (!repeats(row, at)) first[next++] = at;
      }
    }
  });
  return first;
}

void keep_only(RawVector<NodeId>& values, const RawVector<EdgeId>& positions) {
  RawVector<NodeId> kept(positions.size());
  parallel_for(static_cast<int64_t>(kept.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) kept[k] = values[positions[k]];
  });
  values = std::move(kept);
}

// Costs, weights and the map of given edges, from the given order to the final one.
void carry_payload(const SortedRows& rows, const RawVector<EdgeId>& first, const EdgeList& given,
                   std::vector<double>& costs, std::vector<double>& weights, BuildReport& report) {
  const auto sorted = static_cast<EdgeId>(rows.tails.size());
  const EdgeId kept = first.empty() ? sorted : static_cast<EdgeId>(first.size());
  if (!given.costs.empty()) costs.resize(kept);
  if (!given.weights.empty()) weights.resize(kept);
  EdgeId edge = -1;
  for (EdgeId at = 0; at < sorted; ++at) {
    const bool starts_edge = first.empty() || (edge + 1 < kept && first[edge + 1] == at);
    edge += starts_edge;
    const EdgeId source = rows.given[at];
    if (!costs.empty())
      costs[edge] = starts_edge ? given.costs[source] : std::min(costs[edge], given.costs[source]);
    if (!weights.empty() && starts_edge) weights[edge] = given.weights[source];
    if (!report.edge_of_given.empty()) report.edge_of_given[source] = edge;
  }
}

}  // namespace

Graph Graph::build(EdgeList edges, const GraphOptions& options, BuildReport* report) {
  check_edges(edges);
  BuildReport found;
  found.given_edges = static_cast<int64_t>(edges.heads.size());
  if (options.map_given_edges) found.edge_of_given.assign(edges.heads.size(), -1);
  const bool track = options.map_given_edges || !edges.costs.empty() || !edges.weights.empty();

  auto storage = std::make_shared<Storage>();
  storage->num_nodes = edges.num_nodes;
  storage->directed = options.directed;
  {
    SortedRows rows = sort_edges(orient(edges, options, track, found), edges.num_nodes);
    const RawVector<EdgeId> first = mark_first(rows, options, found);
    if (track) carry_payload(rows, first, edges, storage->costs, storage->weights, found);
    storage->heads.resize(rows.tails.size());
    fill_row_numbers(rows.offsets, storage->heads);
    storage->tails = std::move(rows.tails);
    if (!first.empty()) {
      keep_only(storage->heads, first);
      keep_only(storage->tails, first);
    }
  }
  if (options.directed) {
    storage->in = {row_offsets(storage->heads, edges.num_nodes), storage->tails, {}};
    storage->in.edges.resize(storage->tails.size());
    std::iota(storage->in.edges.begin(), storage->in.edges.end(), EdgeId{0});
    storage->out.offsets = row_offsets(storage->tails, edges.num_nodes);
    scatter_arcs(storage->tails, storage->heads, storage->out.offsets, storage->out.neighbours,
                 storage->out.edges);
  } else {
    Storage::Rows& both = storage->out;
    both.offsets = row_offsets_of_both_ends(storage->heads, storage->tails, edges.num_nodes);
    scatter_arcs_of_both_ends(storage->heads, storage->tails, both.offsets, both.neighbours, both.edges);
  }
  if (report != nullptr) *report = std::move(found);
  return Graph(std::move(storage));
}

Graph::Graph() : Graph(build({})) {}
Graph::Graph(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}

int64_t Graph::num_nodes() const { return storage_->num_nodes; }
int64_t Graph::num_edges() const { return static_cast<int64_t>(storage_->heads.size()); }
bool Graph::directed() const { return storage_->directed; }
std::span<const NodeId> Graph::heads() const { return storage_->heads; }
std::span<const NodeId> Graph::tails() const { return storage_->tails; }
std::span<const double> Graph::costs() const { return storage_->costs; }
std::span<const double> Graph::weights() const { return storage_->weights; }
Adjacency Graph::out() const { return storage_->out.view(); }
Adjacency Graph::in() const { return (storage_->directed ? storage_->in : storage_->out).view(); }

}  // namespace qw
