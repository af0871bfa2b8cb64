#include "data/partition/metis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/text.h"
#include "qw/core/error.h"
#if QW_HAS_METIS
#include <metis.h>
#endif

namespace qw {

bool has_metis() { return QW_HAS_METIS != 0; }

namespace {

#if QW_HAS_METIS
// Neighbours in either direction, each once, without the node itself.
struct Neighbours {
  std::vector<idx_t> offsets{0};
  std::vector<idx_t> nodes;
};

Neighbours neighbours_of(const Graph& graph) {
  Neighbours result;
  std::vector<NodeId> met;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    const auto out = graph.out().neighbours_of(node), in = graph.in().neighbours_of(node);
    met.clear();
    std::set_union(out.begin(), out.end(), in.begin(), in.end(), std::back_inserter(met));
    met.erase(std::unique(met.begin(), met.end()), met.end());
    std::erase(met, node);
    result.nodes.insert(result.nodes.end(), met.begin(), met.end());
    result.offsets.push_back(static_cast<idx_t>(result.nodes.size()));
  }
  return result;
}

std::vector<idx_t> parts_of(const Graph& graph, int64_t parts, int64_t seed) {
  std::vector<idx_t> part(graph.num_nodes(), 0);
  if (parts == 1) return part;
  constexpr int64_t kMostArcs = std::numeric_limits<idx_t>::max();
  if (2 * graph.num_edges() > kMostArcs) {
    fail(
        fmt::format("METIS counts to {} here, too few for the {} edges of this graph, each at both ends; "
                    "--method range has no such limit",
                    with_thousands(kMostArcs), with_thousands(graph.num_edges())));
  }
  Neighbours graph_of = neighbours_of(graph);
  graph_of.nodes.reserve(1);  // METIS wants an address
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed);
  auto nodes = static_cast<idx_t>(graph.num_nodes());
  auto wanted = static_cast<idx_t>(parts);
  idx_t constraints = 1, cut = 0;
  const int status =
      METIS_PartGraphKway(&nodes, &constraints, graph_of.offsets.data(), graph_of.nodes.data(), nullptr,
                          nullptr, nullptr, &wanted, nullptr, nullptr, options, &cut, part.data());
  if (status != METIS_OK) {
    fail(fmt::format("METIS failed{}; --method range needs none",
                     status == METIS_ERROR_MEMORY ? ": it had too little memory" : ""));
  }
  return part;
}
#else
std::vector<int32_t> parts_of(const Graph& /*graph*/, int64_t /*parts*/, int64_t /*seed*/) {
  fail("this qw was built without METIS (libmetis-dev); --method range needs none");
}
#endif

}  // namespace

Cut metis_cut(const Graph& graph, int64_t parts, int64_t seed) {
  auto part = parts_of(graph, parts, seed);
  std::vector<int64_t> sizes(parts, 0);
  for (const auto each : part) ++sizes[each];
  for (int64_t empty = 0; empty < parts; ++empty) {
    if (sizes[empty] > 0) continue;
    const auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
    const auto last = std::find(part.rbegin(), part.rend(), largest);
    *last = static_cast<NodeId>(empty);
    --sizes[largest];
    ++sizes[empty];
  }
  Cut cut;
  cut.begins.push_back(0);
  for (const int64_t size : sizes) cut.begins.push_back(cut.begins.back() + size);
  cut.original.resize(part.size());
  std::vector<int64_t> next(cut.begins.begin(), cut.begins.end() - 1);
  for (size_t node = 0; node < part.size(); ++node)
    cut.original[next[part[node]]++] = static_cast<NodeId>(node);
  return cut;
}

}  // namespace qw
