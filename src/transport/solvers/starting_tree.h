// The basis a network simplex starts from: a spanning tree of a network's nodes and one artificial root, with
// its flows.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/integers.h"
#include "transport/network.h"
#include "transport/solver.h"

namespace qw::transport {

// The root is node num_nodes; every node may hang from it by an artificial edge, numbered num_edges + node.
template <class Int>
struct StartingTree {
  std::vector<int32_t> order;    // [N+1] root first, parents before children
  std::vector<int32_t> parents;  // [N+1]
  std::vector<int64_t> edges;    // [N+1] towards the parent
  std::vector<Int> flows;        // [N+1] towards the parent; 0 only where flow could run that way
  // [N] Potentials which the network's edges allow. The tree is optimal when artificial edges cost what these
  // say.
  std::vector<Int> bases;
};

// The tree that memory holds, cut where its flows run against its potential; without memory, ways to the
// ground; without ground, a star of artificial edges. At most num_nodes * the largest cost in the absolute
// value of a base. `Int` is int64_t or Wide.
template <class Int>
StartingTree<Int> starting_tree(const Network& network, const Arcs& arcs, const ScaledNumbers<Int>& integers,
                                const Memory& memory);

}  // namespace qw::transport
