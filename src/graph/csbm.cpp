#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/memory.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "qw/graph/generators.h"

namespace qw {
namespace {

// Streams of random numbers under one seed.
enum Stream : uint64_t { kAssignmentStream, kMeanStream, kNoiseStream, kEdgeStream };

// Nodes of class c are member[first(c)] .. member[first(c + 1)).
struct Blocks {
  std::vector<NodeId> member;
  std::vector<int32_t> class_of;
  int64_t classes;

  int64_t first(int64_t c) const { return static_cast<int64_t>(member.size()) * c / classes; }
  int64_t size(int64_t c) const { return first(c + 1) - first(c); }
};

Blocks assign_classes(const CsbmOptions& options) {
  Blocks blocks;
  blocks.classes = options.classes;
  blocks.member.resize(options.nodes);
  for (int64_t i = 0; i < options.nodes; ++i) blocks.member[i] = static_cast<NodeId>(i);
  const RandomStream random(options.seed, kAssignmentStream);
  for (int64_t i = options.nodes - 1; i > 0; --i)
    std::swap(blocks.member[i], blocks.member[random.below(i, i + 1)]);
  blocks.class_of.resize(options.nodes);
  for (int64_t c = 0; c < options.classes; ++c) {
    std::sort(blocks.member.begin() + blocks.first(c), blocks.member.begin() + blocks.first(c + 1));
    for (int64_t i = blocks.first(c); i < blocks.first(c + 1); ++i) {
      blocks.class_of[blocks.member[i]] = static_cast<int32_t>(c);
    }
  }
  return blocks;
}

struct PairCounts {
  double within = 0;  // one class
  double between = 0;
};

PairCounts possible_pairs(const Blocks& blocks) {
  double within = 0;
  const auto nodes = static_cast<double>(blocks.member.size());
  for (int64_t c = 0; c < blocks.classes; ++c) {
    const auto size = static_cast<double>(blocks.size(c));
    within += size * (size - 1) / 2;
  }
  return {within, nodes * (nodes - 1) / 2 - within};
}

void check_room(const CsbmOptions& options, const Blocks& blocks, int64_t within, int64_t between) {
  const PairCounts room = possible_pairs(blocks);
  const auto check = [&](int64_t wanted, double pairs, const char* where) {
    if (static_cast<double>(wanted) > 0.5 * pairs) {
      fail_usage(fmt::format(
          "csbm: degree={} and homophily={} want {} edges {} classes, but only {} pairs are there and "
          "at most half of them are drawn; lower the degree",
          options.degree, options.homophily, wanted, where, pairs));
    }
  };
  check(within, room.within, "within");
  check(between, room.between, "between");
}

// Proposal number `counter`: a pair of nodes of one class, or of two.
uint64_t propose(const Blocks& blocks, const RandomStream& random, uint64_t counter, bool within) {
  const auto nodes = static_cast<uint64_t>(blocks.member.size());
  while (true) {
    // A uniform first end and a uniform end of its class: pairs of a class are equally likely when classes
    // have the same size, which they have to one node.
    const NodeId a = blocks.member[random.below(counter * 4, nodes)];
    const int64_t c = blocks.class_of[a];
    const int64_t pick = random.below(counter * 4 + 1, within ? blocks.size(c) : nodes - blocks.size(c));
    const int64_t skipped = pick < blocks.first(c) ? pick : pick + blocks.size(c);
    const NodeId b = blocks.member[within ? blocks.first(c) + pick : skipped];
    if (a != b) return (static_cast<uint64_t>(std::min(a, b)) << 32) | static_cast<uint32_t>(std::max(a, b));
    counter += uint64_t{1} << 40;
  }
}

// Appends `count` proposals to `edges`; `proposed` counts all there have been.
void append_pairs(const Blocks& blocks, const RandomStream& random, int64_t count, bool within,
                  uint64_t& proposed, EdgeList& edges) {
  const auto have = static_cast<int64_t>(edges.heads.size());
  edges.heads.resize(have + count);
  edges.tails.resize(have + count);
  parallel_for(count, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t pair = propose(blocks, random, proposed + i, within);
      edges.heads[have + i] = static_cast<NodeId>(pair >> 32);
      edges.tails[have + i] = static_cast<NodeId>(pair & 0xFFFFFFFFu);
    }
  });
  proposed += count;
}

int64_t count_within(const Blocks& blocks, const Graph& graph) {
  std::atomic<int64_t> count{0};
  parallel_for(graph.num_edges(), 1 << 14, [&](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (EdgeId e = begin; e < end; ++e) {
      found += blocks.class_of[graph.heads()[e]] == blocks.class_of[graph.tails()[e]];
    }
    count += found;
  });
  return count;
}

// Repeated pairs are few, so a few rounds of drawing what building dropped reach the exact numbers.
Graph draw_graph(const Blocks& blocks, const RandomStream& random, int64_t within, int64_t between) {
  EdgeList edges;
  edges.num_nodes = static_cast<int64_t>(blocks.member.size());
  uint64_t proposed = 0;
  int64_t missing_within = within;
  int64_t missing_between = between;
  while (true) {
    append_pairs(blocks, random, missing_within, true, proposed, edges);
    append_pairs(blocks, random, missing_between, false, proposed, edges);
    Graph graph = Graph::build(std::move(edges));
    if (graph.num_edges() == within + between) return graph;
    edges = {};
    edges.num_nodes = graph.num_nodes();
    edges.heads.assign(graph.heads().begin(), graph.heads().end());
    edges.tails.assign(graph.tails().begin(), graph.tails().end());
    const int64_t found_within = count_within(blocks, graph);
    missing_within = within - found_within;
    missing_between = between - (graph.num_edges() - found_within);
  }
}

std::vector<float> draw_features(const CsbmOptions& options, const Blocks& blocks) {
  const int64_t columns = options.features;
  const RandomStream mean_random(options.seed, kMeanStream);
  std::vector<double> means(options.classes * columns);
  for (int64_t c = 0; c < options.classes; ++c) {
    double square = 0;
    for (int64_t k = 0; k < columns; ++k) {
      means[c * columns + k] = mean_random.normal(c * columns + k);
      square += means[c * columns + k] * means[c * columns + k];
    }
    for (int64_t k = 0; k < columns; ++k) means[c * columns + k] *= options.signal / std::sqrt(square);
  }
  const RandomStream noise(options.seed, kNoiseStream);
  const double scale = columns == 0 ? 0 : 1.0 / std::sqrt(static_cast<double>(columns));
  std::vector<float> values(options.nodes * columns);
  parallel_for(options.nodes, 256, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      const double* mean = means.data() + blocks.class_of[node] * columns;
      for (int64_t k = 0; k < columns; ++k) {
        values[node * columns + k] = static_cast<float>(mean[k] + noise.normal(node * columns + k) * scale);
      }
    }
  });
  return values;
}

// The least that it takes: what is there at the end, without what building needs for a while.
void check_memory(const CsbmOptions& options) {
  const auto nodes = static_cast<double>(options.nodes);
  const double edges = nodes * options.degree / 2;
  constexpr double kPerNode =
      2 * sizeof(NodeId) + 2 * sizeof(int64_t);  // class, place in it, offsets of rows
  constexpr double kPerEdge = 4 * sizeof(NodeId) + 2 * sizeof(NodeId) + 2 * sizeof(EdgeId);
  const double features = nodes * static_cast<double>(options.features) * sizeof(float);
  const double means = static_cast<double>(options.classes * options.features) * sizeof(double);
  require_memory(nodes * kPerNode + edges * kPerEdge + features + means,
                 fmt::format("csbm: a graph of nodes={}, degree={}, features={}", options.nodes,
                             options.degree, options.features),
                 "lower them");
}

}  // namespace

Dataset make_csbm(const CsbmOptions& options) {
  if (options.classes > options.nodes) {
    fail_usage(
        fmt::format("csbm: {} classes need at least as many nodes, not {}", options.classes, options.nodes));
  }
  check_memory(options);
  const Blocks blocks = assign_classes(options);
  const int64_t wanted = std::llrint(static_cast<double>(options.nodes) * options.degree / 2);
  const int64_t within = std::llrint(static_cast<double>(wanted) * options.homophily);
  check_room(options, blocks, within, wanted - within);

  Dataset dataset;
  dataset.name = "csbm";
  dataset.format = "generator";
  dataset.graph = draw_graph(blocks, RandomStream(options.seed, kEdgeStream), within, wanted - within);
  if (options.features > 0) {
    dataset.features = features_from_dense(options.nodes, options.features, draw_features(options, blocks));
  }
  dataset.targets = class_targets(blocks.class_of);
  return dataset;
}

}  // namespace qw
