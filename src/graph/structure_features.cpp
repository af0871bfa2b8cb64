#include "qw/graph/structure_features.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>

#include "qw/core/parallel.h"

namespace qw {
namespace {

constexpr int64_t kGrain = 1 << 14;

// Neighbours in either direction, ascending, without self-loops and repetitions.
struct SimpleGraph {
  std::vector<int64_t> offsets;
  std::vector<NodeId> neighbours;

  int64_t num_nodes() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t degree(NodeId node) const { return offsets[node + 1] - offsets[node]; }
  std::span<const NodeId> neighbours_of(NodeId node) const {
    return std::span(neighbours).subspan(offsets[node], degree(node));
  }
};

// Calls visit(neighbour) for each different neighbour in two ascending lists.
template <class Visit>
void for_union(std::span<const NodeId> a, std::span<const NodeId> b, NodeId self, const Visit& visit) {
  NodeId last = self;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const NodeId next = j == b.size() || (i < a.size() && a[i] <= b[j]) ? a[i++] : b[j++];
    if (next != last && next != self) visit(next);
    last = next;
  }
}

SimpleGraph simple_graph(const Adjacency& one, const Adjacency& other, int64_t nodes) {
  SimpleGraph simple;
  simple.offsets.assign(nodes + 1, 0);
  const auto visit_all = [&](const auto& visit) {
    parallel_rows(one.offsets, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) {
        const auto node = static_cast<NodeId>(v);
        for_union(one.neighbours_of(node), other.neighbours_of(node), node,
                  [&](NodeId neighbour) { visit(node, neighbour); });
      }
    });
  };
  visit_all([&](NodeId node, NodeId) { ++simple.offsets[node + 1]; });
  std::partial_sum(simple.offsets.begin(), simple.offsets.end(), simple.offsets.begin());
  simple.neighbours.resize(simple.offsets.back());
  std::vector<int64_t> next(simple.offsets.begin(), simple.offsets.end() - 1);
  visit_all([&](NodeId node, NodeId neighbour) { simple.neighbours[next[node]++] = neighbour; });
  return simple;
}

SimpleGraph undirected(const Graph& graph) {
  return simple_graph(graph.out(), graph.in(), graph.num_nodes());
}

// Only the neighbours of higher rank, where rank orders by degree and then by number: at most sqrt(2 E) each.
SimpleGraph upward(const SimpleGraph& simple) {
  SimpleGraph up;
  up.offsets = {0};
  up.offsets.reserve(simple.offsets.size());
  up.neighbours.reserve(simple.neighbours.size() / 2);
  for (NodeId node = 0; node < simple.num_nodes(); ++node) {
    for (const NodeId neighbour : simple.neighbours_of(node)) {
      const int64_t mine = simple.degree(node), theirs = simple.degree(neighbour);
      if (mine < theirs || (mine == theirs && node < neighbour)) up.neighbours.push_back(neighbour);
    }
    up.offsets.push_back(static_cast<int64_t>(up.neighbours.size()));
  }
  return up;
}

// Every triangle is found once, at its corner of lowest rank. Counts are whole numbers, so that the order in
// which threads add them does not matter.
std::vector<int64_t> count_triangles(const SimpleGraph& simple) {
  const SimpleGraph up = upward(simple);
  std::vector<int64_t> triangles(simple.num_nodes(), 0);
  const auto count = [&](NodeId node) {
    std::atomic_ref(triangles[node]).fetch_add(1, std::memory_order_relaxed);
  };
  parallel_rows(up.offsets, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const auto node = static_cast<NodeId>(v);
      const auto mine = up.neighbours_of(node);
      for (const NodeId neighbour : mine) {
        const auto theirs = up.neighbours_of(neighbour);
        for (size_t i = 0, j = 0; i < mine.size() && j < theirs.size();) {
          if (mine[i] == theirs[j]) {
            count(node), count(neighbour), count(mine[i]);
            ++i, ++j;
          } else {
            mine[i] < theirs[j] ? ++i : ++j;
          }
        }
      }
    }
  });
  return triangles;
}

std::vector<double> clustering_of(const SimpleGraph& simple) {
  const std::vector<int64_t> triangles = count_triangles(simple);
  std::vector<double> coefficients(triangles.size(), 0.0);
  for (NodeId node = 0; node < simple.num_nodes(); ++node) {
    const auto degree = static_cast<double>(simple.degree(node));
    if (degree > 1) coefficients[node] = 2.0 * static_cast<double>(triangles[node]) / (degree * (degree - 1));
  }
  return coefficients;
}

// Batagelj and Zaversnik: take away a node of the lowest degree left, again and again, with the nodes kept in
// order of that degree.
std::vector<int64_t> cores_of(const SimpleGraph& simple) {
  const int64_t nodes = simple.num_nodes();
  std::vector<int64_t> left(nodes);
  int64_t largest = 0;
  for (NodeId node = 0; node < nodes; ++node) largest = std::max(largest, left[node] = simple.degree(node));
  std::vector<int64_t> first(largest + 2, 0);  // where the nodes of each degree begin in `order`
  for (const int64_t degree : left) ++first[degree + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<NodeId> order(nodes);
  std::vector<int64_t> place(nodes);
  std::vector<int64_t> next(first.begin(), first.end());
  for (NodeId node = 0; node < nodes; ++node) {
    place[node] = next[left[node]]++;
    order[place[node]] = node;
  }
  for (int64_t at = 0; at < nodes; ++at) {
    const NodeId node = order[at];
    for (const NodeId neighbour : simple.neighbours_of(node)) {
      if (left[neighbour] <= left[node]) continue;
      // To the front of the nodes of its degree, which then begin one later.
      const int64_t front = first[left[neighbour]--]++;
      const NodeId moved = order[front];
      std::swap(order[front], order[place[neighbour]]);
      std::swap(place[moved], place[neighbour]);
    }
  }
  return left;
}

std::vector<double> log_degrees(const SimpleGraph& simple) {
  std::vector<double> logs(simple.num_nodes());
  for (NodeId node = 0; node < simple.num_nodes(); ++node)
    logs[node] = std::log1p(static_cast<double>(simple.degree(node)));
  return logs;
}

std::vector<double> neighbour_means(const SimpleGraph& simple, const std::vector<double>& values) {
  std::vector<double> means(values.size(), 0.0);
  parallel_rows(simple.offsets, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const auto node = static_cast<NodeId>(v);
      if (simple.degree(node) == 0) continue;
      double sum = 0;
      for (const NodeId neighbour : simple.neighbours_of(node)) sum += values[neighbour];
      means[node] = sum / static_cast<double>(simple.degree(node));
    }
  });
  return means;
}

}  // namespace

std::vector<double> clustering_coefficients(const Graph& graph) { return clustering_of(undirected(graph)); }

std::vector<int64_t> core_numbers(const Graph& graph) { return cores_of(undirected(graph)); }

Features structure_features(const Graph& graph, const StructureOptions& options) {
  const SimpleGraph simple = undirected(graph);
  const int64_t nodes = graph.num_nodes();
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
  const auto add = [&](const char* name, std::vector<double> values) {
    names.emplace_back(name);
    columns.push_back(std::move(values));
  };
  const std::vector<double> logs = log_degrees(simple);
  if (graph.directed()) {
    add("log_in_degree", log_degrees(simple_graph(graph.in(), graph.in(), nodes)));
    add("log_out_degree", log_degrees(simple_graph(graph.out(), graph.out(), nodes)));
  } else {
    add("log_degree", logs);
  }
  if (graph.num_edges() <= options.most_edges_for_clustering) add("clustering", clustering_of(simple));
  const std::vector<int64_t> cores = cores_of(simple);
  add("core_number", {cores.begin(), cores.end()});
  add("neighbour_log_degree", neighbour_means(simple, logs));

  const auto width = static_cast<int64_t>(columns.size());
  std::vector<float> values(nodes * width);
  for (int64_t node = 0; node < nodes; ++node) {
    for (int64_t k = 0; k < width; ++k) values[node * width + k] = static_cast<float>(columns[k][node]);
  }
  Features features = features_from_dense(nodes, width, std::move(values));
  features.names = std::move(names);
  return features;
}

Features constant_features(int64_t nodes) {
  Features features = features_from_dense(nodes, 1, std::vector<float>(nodes, 1.0f));
  features.names = {"constant"};
  return features;
}

bool features_show_graph(const Dataset& dataset) {
  return dataset.made_features && dataset.features.columns > 1;  // a constant is one column
}

}  // namespace qw
