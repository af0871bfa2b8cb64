// Features of nodes that have none of their own: numbers that say where a node stands in the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/dataset.h"
#include "qw/graph/features.h"
#include "qw/graph/graph.h"

namespace QW_PUBLIC qw {

// Limits of what is computed.
struct StructureOptions {
  // Triangles are counted in O(E sqrt(E)) time; in graphs of more edges than this the column is left out.
  int64_t most_edges_for_clustering = 20'000'000;
};

// One row per node. The columns, by name, are
//   log_degree                 log(1 + degree); in a directed graph log_in_degree and log_out_degree
//   clustering                 local clustering coefficient: the share of pairs of neighbours that are joined
//   core_number                the largest k such that the node is in a subgraph of degrees of at least k
//   neighbour_log_degree       the mean of log(1 + degree) over the neighbours
// Neighbours are counted once; self-loops and repeated edges do not count. But for the in- and out-degree a
// directed graph is taken as undirected. A node without neighbours has zeros.
Features structure_features(const Graph& graph, const StructureOptions& options = {});

// The same 1 for every node: a column named "constant".
Features constant_features(int64_t nodes);

// Whether the features of a data set were made by structure_features(): who sees them sees the graph.
bool features_show_graph(const Dataset& dataset);

// The parts, one number per node.
std::vector<double> clustering_coefficients(const Graph& graph);
std::vector<int64_t> core_numbers(const Graph& graph);

}  // namespace qw
