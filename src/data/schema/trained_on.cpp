#include "qw/data/trained_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "core/sha256.h"
#include "core/text.h"
#include "data/formats/node_ids.h"
#include "data/formats/node_text.h"
#include "data/schema/row_hashes.h"

namespace qw {
namespace {

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mixed(hash);
}

// 1.0 is 1, as where edges meet a node table, unless that would make one id of two.
std::vector<std::string> whole_ids(const std::vector<std::string>& ids, int64_t nodes) {
  std::vector<std::string> whole;
  whole.reserve(nodes);
  for (int64_t node = 0; node < nodes; ++node)
    whole.emplace_back(ids.empty() ? std::to_string(node) : std::string(without_zero_fraction(ids[node])));
  return ids.empty() || are_distinct(whole) ? whole : ids;
}

std::vector<NodeId> places_by_id(const std::vector<std::string>& from, int64_t from_nodes,
                                 const std::vector<std::string>& to, int64_t to_nodes) {
  std::vector<NodeId> result(from_nodes, -1);
  if (from.empty() && to.empty()) {
    std::iota(result.begin(), result.begin() + std::min(from_nodes, to_nodes), NodeId{0});
    return result;
  }
  std::unordered_map<std::string, NodeId> place;
  place.reserve(to_nodes);
  const std::vector<std::string> known = whole_ids(to, to_nodes);
  for (int64_t node = 0; node < to_nodes; ++node) place.emplace(known[node], static_cast<NodeId>(node));
  const std::vector<std::string> names = whole_ids(from, from_nodes);
  for (int64_t node = 0; node < from_nodes; ++node) {
    const auto found = place.find(names[node]);
    if (found != place.end()) result[node] = found->second;
  }
  return result;
}

// An edge by its ends, and what it weighs.
struct PlacedEdge {
  NodeId head, tail;
  double weight, cost;

  bool operator<(const PlacedEdge& other) const {
    return std::tie(head, tail, weight, cost) < std::tie(other.head, other.tail, other.weight, other.cost);
  }
};

PlacedEdge placed_edge(const Graph& graph, EdgeId e, const std::vector<NodeId>& place) {
  NodeId head = place[graph.heads()[e]], tail = place[graph.tails()[e]];
  if (!graph.directed() && head > tail) std::swap(head, tail);
  return {head, tail, graph.weights().empty() ? 1.0 : graph.weights()[e],
          graph.costs().empty() ? 1.0 : graph.costs()[e]};
}

// The edges of a graph, sorted, with its nodes at these places; those with an end nowhere are left out.
std::vector<PlacedEdge> placed_edges(const Graph& graph, const std::vector<NodeId>& place) {
  std::vector<PlacedEdge> edges;
  edges.reserve(graph.num_edges());
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    if (place[graph.heads()[e]] >= 0 && place[graph.tails()[e]] >= 0)
      edges.push_back(placed_edge(graph, e, place));
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

std::vector<NodeId> same_places(int64_t nodes) {
  std::vector<NodeId> place(nodes);
  std::iota(place.begin(), place.end(), NodeId{0});
  return place;
}

// Edges of one list that the other has not; an edge with another weight counts once.
int64_t count_different_edges(const TrainedOn& trained_on, const Dataset& dataset,
                              const std::vector<NodeId>& place) {
  const int64_t gone = trained_on.graph.num_edges();
  if (trained_on.graph.directed() != dataset.graph.directed())
    return std::max(gone, dataset.graph.num_edges());
  const std::vector<PlacedEdge> before = placed_edges(trained_on.graph, place),
                                now = placed_edges(dataset.graph, same_places(dataset.graph.num_nodes()));
  std::vector<PlacedEdge> lost, found;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(lost));
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(found));
  const auto ends = [](const PlacedEdge& a, const PlacedEdge& b) {
    return std::pair(a.head, a.tail) < std::pair(b.head, b.tail);
  };
  std::vector<PlacedEdge> weighed_anew;
  std::set_intersection(lost.begin(), lost.end(), found.begin(), found.end(),
                        std::back_inserter(weighed_anew), ends);
  const auto at_lost_nodes = gone - static_cast<int64_t>(before.size());
  return at_lost_nodes + static_cast<int64_t>(lost.size() + found.size() - weighed_anew.size());
}

// What a node is labelled with, as text: the same for any order of classes.
std::string label_text(const Targets& targets, NodeId node) {
  if (targets.task == Task::kNone || !targets.known(node)) return "";
  if (!targets.classes.empty()) {
    const int32_t c = targets.classes[node];
    return targets.names.empty() ? std::to_string(c) : targets.names[c];
  }
  std::string text;
  for (int64_t k = 0; k < targets.width; ++k)
    text += fmt::format("{} ", targets.values[node * targets.width + k]);
  return text;
}

// Nodes in the order of their ids.
std::vector<NodeId> canonical_order(const TrainedOn& trained_on) {
  std::vector<NodeId> order = same_places(trained_on.graph.num_nodes());
  const std::vector<std::string>& ids = trained_on.node_ids;
  if (!ids.empty())
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return ids[a] < ids[b]; });
  return order;
}

template <class T>
void add_number(Sha256& hash, const T& number) {
  hash.add({reinterpret_cast<const char*>(&number), sizeof(T)});
}

std::string graph_hash(const TrainedOn& trained_on, const std::vector<NodeId>& order,
                       const std::vector<NodeId>& rank) {
  const Graph& graph = trained_on.graph;
  Sha256 hash;
  hash.add(graph.directed() ? "directed\n" : "undirected\n");
  for (const NodeId node : order) hash.add(trained_on.node_id(node) + '\n');
  const auto add = [&](const PlacedEdge& edge) {
    add_number(hash, edge.head);
    add_number(hash, edge.tail);
    add_number(hash, edge.weight);
    add_number(hash, edge.cost);
  };
  const bool in_order =
      std::is_sorted(rank.begin(), rank.end()) && graph.weights().empty() && graph.costs().empty();
  if (in_order) {  // then edges are, too, and a large graph needs no copy of them
    for (EdgeId e = 0; e < graph.num_edges(); ++e) add(placed_edge(graph, e, rank));
  } else {
    for (const PlacedEdge& edge : placed_edges(graph, rank)) add(edge);
  }
  return hash.hex();
}

std::string split_bytes(const Split& split, const std::vector<NodeId>& rank) {
  std::string bytes(rank.size(), '-');
  for (const auto& [nodes, mark] :
       {std::pair{&split.train, 't'}, std::pair{&split.val, 'v'}, std::pair{&split.test, 'e'}}) {
    for (const NodeId node : *nodes) bytes[rank[node]] = mark;
  }
  return bytes;
}

}  // namespace

// A sum over the numbers that are not 0, so that the order of columns does not count.
std::vector<uint64_t> row_hashes(const Features& features) {
  std::vector<uint64_t> columns(features.columns), rows(features.rows, 0);
  for (int64_t column = 0; column < features.columns; ++column)
    columns[column] = features.names.empty() ? mixed(column + 1) : hash_of(features.names[column]);
  const auto add = [&](int64_t row, int64_t column, float value) {
    if (value != 0.0f) rows[row] += mixed(columns[column] ^ std::bit_cast<uint32_t>(value));
  };
  for (int64_t row = 0; row < features.rows; ++row) {
    if (features.sparse) {
      for (int64_t at = features.offsets[row]; at < features.offsets[row + 1]; ++at)
        add(row, features.indices[at], features.values[at]);
    } else {
      for (int64_t column = 0; column < features.columns; ++column)
        add(row, column, features.dense[row * features.columns + column]);
    }
  }
  return rows;
}

std::string TrainedOn::node_id(NodeId node) const {
  return node_ids.empty() ? std::to_string(node) : node_ids[node];
}

TrainedOn remember(const Dataset& dataset, std::vector<Split> splits, std::string split) {
  return {schema_of(dataset),           dataset.graph,     dataset.node_ids, dataset.targets,
          row_hashes(dataset.features), std::move(splits), std::move(split)};
}

std::vector<NodeId> places(const TrainedOn& from, const Dataset& to) {
  return places_by_id(from.node_ids, from.graph.num_nodes(), to.node_ids, to.graph.num_nodes());
}

std::vector<NodeId> places(const Dataset& from, const TrainedOn& to) {
  return places_by_id(from.node_ids, from.graph.num_nodes(), to.node_ids, to.graph.num_nodes());
}

DataChanges changes_since(const TrainedOn& trained_on, const Dataset& dataset) {
  DataChanges changes;
  const std::vector<NodeId> place = places(trained_on, dataset);
  const std::vector<uint64_t> rows = row_hashes(dataset.features);
  const bool has_labels = dataset.targets.task != Task::kNone && dataset.targets.labelled() > 0;
  int64_t common = 0;
  for (size_t node = 0; node < place.size(); ++node) {
    const NodeId now = place[node];
    if (now < 0) continue;
    ++common;
    changes.reordered = changes.reordered || now != static_cast<NodeId>(node);
    const bool relabelled = has_labels && label_text(trained_on.targets, static_cast<NodeId>(node)) !=
                                              label_text(dataset.targets, now);
    changes.labels += relabelled;
    changes.features += trained_on.feature_rows[node] != rows[now];
  }
  changes.nodes = trained_on.graph.num_nodes() + dataset.graph.num_nodes() - 2 * common;
  changes.directions = trained_on.graph.directed() != dataset.graph.directed();
  if (!changes.directions) changes.edges = count_different_edges(trained_on, dataset, place);
  return changes;
}

std::string DataChanges::text() const {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* one, const char* many) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
  };
  add(labels, "label", "labels");
  add(edges, "edge", "edges");
  add(nodes, "node", "nodes");
  if (directions) parts.emplace_back("the direction of the edges (--directed)");
  if (features > 0)
    parts.push_back(fmt::format("the features of {} {}", features, features == 1 ? "node" : "nodes"));
  if (parts.size() < 2) return parts.empty() ? "nothing" : parts[0];
  const std::string last = parts.back();
  parts.pop_back();
  return join(parts, ", ") + " and " + last;
}

Fingerprint fingerprint(const TrainedOn& trained_on) {
  const std::vector<NodeId> order = canonical_order(trained_on);
  std::vector<NodeId> rank(order.size());
  for (size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<NodeId>(k);
  Sha256 features, labels;
  for (const NodeId node : order) {
    labels.add(label_text(trained_on.targets, node) + '\n');
    add_number(features, trained_on.feature_rows[node]);
  }
  Fingerprint result{graph_hash(trained_on, order, rank), features.hex(), labels.hex(), {}};
  for (const Split& split : trained_on.splits) result.splits.push_back(sha256_hex(split_bytes(split, rank)));
  return result;
}

}  // namespace qw
