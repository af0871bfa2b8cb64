// The graph: an immutable value that every other module shares.
//
// Nodes are 0 .. num_nodes-1, edges 0 .. num_edges-1, sorted by (head, tail). Edge e joins tails()[e] and
// heads()[e]. In a directed graph it is the arc tail -> head: messages pass and mass moves from its tail to
// its head only. In an undirected graph every edge stands once, with head < tail.
//
// The incidence matrix S of the paper has S[head, e] = +1 and S[tail, e] = -1, so that a flow f > 0 carries
// mass from tail to head; it is never built.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"

namespace QW_PUBLIC qw {

using NodeId = int32_t;  // up to 2^31 - 2 nodes; 32 bits because kernels are bound by memory traffic
using EdgeId = int64_t;  // position of an edge in heads() and tails()

inline constexpr int64_t kMaxNodes = std::numeric_limits<NodeId>::max() - 1;  // larger graphs are refused

// What a graph is built from; a directed edge "from, to" has its tail at `from` and its head at `to`. `costs`
// (transport costs w >= 0) and `weights` (adjacency weights) are empty or have one entry per edge.
struct EdgeList {
  int64_t num_nodes = 0;        // ids are below it
  std::vector<NodeId> heads;    // [E]: where each edge ends
  std::vector<NodeId> tails;    // [E]: where each edge begins
  std::vector<double> costs;    // [E] or empty
  std::vector<double> weights;  // [E] or empty
};

// What to do with an edge that is a repetition or a self-loop; kError throws qw::Error.
enum class EdgePolicy { kDrop, kKeep, kError };

// How a list of edges becomes a graph.
struct GraphOptions {
  bool directed = false;  // edges are arcs from tail to head
  // Dropping duplicates keeps one edge with the lowest cost among them and the weight of the first given. In
  // an undirected graph (a, b) and (b, a) are the same edge.
  EdgePolicy duplicates = EdgePolicy::kDrop;
  EdgePolicy self_loops = EdgePolicy::kDrop;  // edges from a node to itself
  bool map_given_edges = false;               // fill BuildReport::edge_of_given
};

// What building found and did.
struct BuildReport {
  int64_t given_edges = 0;  // in the list
  int64_t self_loops = 0;   // found; dropped or kept as asked
  int64_t duplicates = 0;   // edges beyond the first of their kind, self-loops not counted when dropped
  std::vector<EdgeId> edge_of_given;  // -1 where the given edge was dropped as a self-loop
};

// Neighbours in compressed sparse rows: those of v, ascending, are neighbours[offsets[v] .. offsets[v+1]),
// each reached by the edge of the same position in `edges`.
struct Adjacency {
  std::span<const int64_t> offsets;    // [N + 1]
  std::span<const NodeId> neighbours;  // [arcs]
  std::span<const EdgeId> edges;       // [arcs]

  // The neighbours of a node, the edges that lead to them, and how many there are.
  std::span<const NodeId> neighbours_of(NodeId node) const {
    return neighbours.subspan(offsets[node], degree(node));
  }
  std::span<const EdgeId> edges_of(NodeId node) const { return edges.subspan(offsets[node], degree(node)); }
  size_t degree(NodeId node) const { return static_cast<size_t>(offsets[node + 1] - offsets[node]); }
};

// Nodes, edges and neighbours. Copies share their memory.
class Graph {
 public:
  Graph();  // no nodes

  // O(N + E) time, in parallel, the same result for any number of threads. Throws qw::Error on an end point
  // outside [0, num_nodes), on a cost that is negative or not finite, a weight that is not finite, arrays of
  // different lengths, and on what the options call an error; the message names the edge.
  static Graph build(EdgeList edges, const GraphOptions& options = {}, BuildReport* report = nullptr);

  // N.
  int64_t num_nodes() const;
  // E; an undirected edge counts once.
  int64_t num_edges() const;
  // Whether edges are arcs from tail to head.
  bool directed() const;

  // [E]: the ends of the edges; a directed edge runs from its tail to its head.
  std::span<const NodeId> heads() const;
  std::span<const NodeId> tails() const;
  std::span<const double> costs() const;    // empty: every edge costs 1
  std::span<const double> weights() const;  // empty: every edge weighs 1

  // Arcs that leave and that enter a node; in an undirected graph both are the same arrays, with every edge
  // at both its ends (a kept self-loop once).
  Adjacency out() const;
  Adjacency in() const;

 private:
  struct Storage;
  explicit Graph(std::shared_ptr<const Storage> storage);
  std::shared_ptr<const Storage> storage_;
};

}  // namespace qw
