// One iterate of the primal-dual hybrid gradient method for flows, and the pass that makes the next.
//
//   flow      <- shrink(flow + step (potential[v] - potential[w]), step cost)
//   potential <- potential + step (supply - divergence of (2 new flow - old flow))
//
// Every node keeps its own copy of the flow of its arcs: twice the arithmetic, but a pass reads and writes
// memory in order, except for the potentials of neighbours, and every sum has one owner. The copies at the
// two ends stay negatives of each other to the last bit, since rounding is symmetric.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/deadline.h"
#include "core/raw_vector.h"
#include "qw/core/parallel.h"
#include "transport/certificate.h"
#include "transport/network.h"

namespace qw::transport {

// How a new iterate is blended from T(z), T(z) - z and the anchor.
struct Blend {
  double moved = 1;
  double change = 0;
  double anchor = 0;
};

// Sums over all nodes; of a step, they make its length in the norm in which the iteration contracts.
struct Sums {
  double flow = 0;
  double potential = 0;
  double cross = 0;
  double length() const { return std::sqrt(std::max(0.0, flow + potential + 2 * cross)); }
};

// The iterate, in units in which mean costs and mean supplies are about 1.
template <class Real>
class Iterate {
 public:
  Iterate(const Network& network, const Arcs& arcs, std::span<const double> supply, const Deadline& deadline);

  // From a potential with any values, in the network's units.
  void start_at(std::span<const double> potential);

  // One pass; false when the deadline came, which leaves the flow between two iterates.
  // With `length`, that of the step as it comes out of the plain iteration.
  bool advance(const Blend& blend);
  bool advance(const Blend& blend, Sums& length);

  // Anchors the iterate where it is, chooses the steps anew and balances flows against potentials by how far
  // each has come since the last restart.
  void restart();

  // In the network's units.
  std::vector<double> flow() const;
  std::vector<double> potential() const;

  // The largest feasible potential below the iterate's, or near it after many sweeps.
  std::vector<double> feasible_potential() const;

  // A tree over which the flow is repaired at little cost.
  Routes repair_routes() const;

 private:
  using Values = RawVector<Real>;

  static constexpr int64_t kBlockNodes = 1024;  // sums and looks at the deadline go by blocks
  static constexpr int64_t kGrain = 1 << 14;    // arcs worth a thread

  // In a directed network the sign says which way flow may run, seen from the node. Rounded down, so that
  // potentials that are feasible for these costs are feasible.
  Real signed_cost(int64_t arc) const {
    const double exact = network_.costs[arc / 2] / cost_unit_;
    Real cost = static_cast<Real>(exact);
    if (cost > exact) cost = std::nextafter(cost, Real{0});
    return network_.directed && arc % 2 == 1 ? -cost : cost;
  }

  bool may_leave(int64_t k) const { return !network_.directed || !std::signbit(cost_[k]); }

  template <class Body>
  void for_rows(const Body& body) const {
    parallel_rows(arcs_.offsets, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) body(static_cast<int32_t>(v));
    });
  }

  // Sums of body(v) over the nodes, the same for any number of threads.
  template <class Body>
  Sums sum_rows(const Body& body) const {
    const int64_t blocks = (network_.num_nodes + kBlockNodes - 1) / kBlockNodes;
    std::vector<Sums> sums(blocks);
    parallel_for(blocks, std::max<int64_t>(1, kGrain / kBlockNodes), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t stop = std::min<int64_t>((block + 1) * kBlockNodes, network_.num_nodes);
        for (int64_t v = block * kBlockNodes; v < stop; ++v) body(static_cast<int32_t>(v), sums[block]);
      }
    });
    Sums total;
    for (const Sums& sum : sums) {
      total.flow += sum.flow;
      total.potential += sum.potential;
      total.cross += sum.cross;
    }
    return total;
  }

  template <bool kDirected, bool kMeasure>
  bool pass(const Blend& blend, Sums* length);
  template <bool kDirected, bool kMeasure>
  void pass_node(int32_t v, const Blend& blend, Sums& sum);

  Routes::Tree cheap_tree(int32_t root, bool towards_root, double steady) const;
  int tree_length(int32_t v, int64_t k, bool towards_root, double steady) const;

  const Network& network_;
  const Arcs& arcs_;
  const Deadline& deadline_;
  double cost_unit_ = 1;
  double supply_unit_ = 1;
  double weight_ = 1;
  Values cost_, step_, flow_, flow_anchor_;                          // by position in arcs_
  Values supply_, node_step_, potential_, next_, potential_anchor_;  // by node
};

extern template class Iterate<float>;
extern template class Iterate<double>;

}  // namespace qw::transport
