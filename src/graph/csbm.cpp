#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "core/memory.h"
#include "graph/csbm_parts.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/core/random.h"
#include "qw/graph/generators.h"

namespace qw {
namespace {

// Appends `count` proposals to `edges`; `proposed` counts all there have been.
void append_pairs(const CsbmBlocks& blocks, const RandomStream& random, int64_t count, bool within,
                  uint64_t& proposed, EdgeList& edges) {
  const auto have = static_cast<int64_t>(edges.heads.size());
  edges.heads.resize(have + count);
  edges.tails.resize(have + count);
  parallel_for(count, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t pair = csbm_proposal(blocks, random, proposed + i, within);
      edges.heads[have + i] = static_cast<NodeId>(pair >> 32);
      edges.tails[have + i] = static_cast<NodeId>(pair & 0xFFFFFFFFu);
    }
  });
  proposed += count;
}

int64_t count_within(const CsbmBlocks& blocks, const Graph& graph) {
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
Graph draw_graph(const CsbmBlocks& blocks, const RandomStream& random, int64_t within, int64_t between) {
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
  check_memory(options);
  const CsbmBlocks blocks = csbm_blocks(options);
  const CsbmEdges edges = csbm_edges(options, blocks);

  Dataset dataset;
  dataset.name = "csbm";
  dataset.format = "generator";
  dataset.graph = draw_graph(blocks, csbm_edge_stream(options), edges.within, edges.between);
  if (options.features > 0) {
    std::vector<float> rows(options.nodes * options.features);
    CsbmFeatures(options).fill(blocks, 0, options.nodes, rows.data());
    dataset.features = features_from_dense(options.nodes, options.features, std::move(rows));
  }
  dataset.targets = class_targets(blocks.class_of);
  return dataset;
}

}  // namespace qw
