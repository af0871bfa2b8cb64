// From a flow that meets the supplies to a forest with the same divergence that costs no more, and its
// potential.
//
// An optimal potential is tight on every edge with flow, so where the flow is a forest it is known but for
// one number per tree: this finds an optimum long before epsilon proves it.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/solvers/residual.h"
#include "transport/solvers/watch.h"

namespace qw::transport {

class FlowForest {
 public:
  explicit FlowForest(Residual& net);

  // Sends flow around cycles of edges with flow, in the direction in which it costs no more, until there are
  // none.
  // False: there still are some, as the deadline came first or the trees are too deep to be worth it.
  bool cancel_cycles(Watch& watch);
  // Makes the potential tight on all edges with flow, which must be a forest; every tree keeps its mean
  // potential. False, and nothing done: it would be too large for its integers.
  bool tighten();
  bool is_tree() const { return num_trees_ == 1; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  void list_flow_edges();
  void grow();
  bool find_cycle(uint32_t edge);
  void break_cycle(uint32_t edge);
  void hang(int32_t node, uint32_t edge);
  int32_t other_end(uint32_t edge, int32_t node) const {
    return net_.source(edge) ^ net_.target(edge) ^ node;
  }

  Residual& net_;
  std::vector<uint32_t> edges_;    // with flow
  std::vector<uint32_t> offsets_;  // of every node in `incident_`
  std::vector<uint32_t> incident_;
  std::vector<uint32_t> up_;        // the edge of every node to its parent
  std::vector<int32_t> order_;      // parents first
  std::vector<uint32_t> leftover_;  // edges that close a cycle
  std::vector<uint32_t> stamps_;
  uint32_t stamp_ = 0;
  int32_t num_trees_ = 0;
  int64_t steps_ = 0;  // of the last search for a cycle
  struct Step {
    uint32_t edge;
    int32_t child;
    bool forth;  // along the edge's direction when going round the cycle
  };
  std::vector<Step> cycle_;
};

}  // namespace qw::transport
