// The residual network of cost scaling: integer costs, flows, excesses and potentials, laid out for scanning.
//
// Flow on an edge is signed and not limited, so there are two ways to send more from u to v: at cost +c,
// always (in a directed network from the source only), and at cost -c as long as flow runs from v to u. Each
// arc keeps the cheaper one as its `price`; it pays to send when potential[u] - potential[v] > price. The
// scan of a node thus reads one record and one potential per arc, and never the flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/integers.h"
#include "transport/network.h"

namespace qw::transport {

inline constexpr int64_t kNoWay = int64_t{1} << 61;  // the price of an arc that nothing can be sent over

class Residual {
 public:
  struct Arc {
    int64_t price;
    int32_t end;
    uint32_t edge;
  };

  // Starts without flow and with potential 0. Costs are those of `integers` times `factor`.
  Residual(const Network& network, const Arcs& arcs, const Integers& integers, int64_t factor);

  int32_t num_nodes() const { return static_cast<int32_t>(excess.size()); }
  int64_t num_edges() const { return static_cast<int64_t>(edges_.size()); }
  uint32_t begin(int32_t node) const { return offsets_[node]; }
  uint32_t end(int32_t node) const { return offsets_[node + 1]; }
  const Arc& arc(uint32_t at) const { return arcs_[at]; }
  int64_t price_back(uint32_t at) const { return prices_back_[at]; }  // of the arc from its end to here
  bool directed() const { return directed_; }

  int32_t source(uint32_t edge) const { return edges_[edge].source; }
  int32_t target(uint32_t edge) const { return edges_[edge].target; }
  int64_t cost(uint32_t edge) const { return edges_[edge].cost; }
  int64_t flow(uint32_t edge) const { return edges_[edge].flow; }
  void add_flow(uint32_t edge, int64_t amount);  // leaves the excess alone

  // The most that can be sent from `node` over the arc, of `amount`.
  int64_t room(uint32_t at, int32_t node, int64_t amount) const;
  void send(uint32_t at, int32_t node, int64_t amount);

  // Takes away the flow of edges on which it does not pay exactly what it costs. Returns how many there were.
  int64_t drop_slack_flow();
  void drop_flow();  // all of it
  std::vector<int64_t> flow() const;
  // Cost of the flow minus value of the potential: not negative when the flow meets the supplies and the
  // potential is feasible, and 0 if and only if both are optimal.
  __int128 gap() const;
  __int128 flow_cost() const;

  std::vector<int64_t> potential;
  std::vector<int64_t> excess;  // supply - (out - in)

 private:
  struct Edge {
    int64_t cost;
    int64_t flow;
    uint32_t at_source;  // its two arcs
    uint32_t at_target;
    int32_t source;
    int32_t target;
  };
  void set_prices(const Edge& edge);

  bool directed_;
  std::vector<uint32_t> offsets_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> prices_back_;
  std::vector<Edge> edges_;
  std::vector<int64_t> supplies_;
};

inline void Residual::set_prices(const Edge& edge) {
  const int64_t forth = edge.flow < 0 ? -edge.cost : edge.cost;
  const int64_t back = edge.flow > 0 ? -edge.cost : directed_ ? kNoWay : edge.cost;
  arcs_[edge.at_source].price = prices_back_[edge.at_target] = forth;
  arcs_[edge.at_target].price = prices_back_[edge.at_source] = back;
}

inline int64_t Residual::room(uint32_t at, int32_t node, int64_t amount) const {
  const Arc& arc = arcs_[at];
  const Edge& edge = edges_[arc.edge];
  const bool from_source = at == edge.at_source;
  const bool at_full_cost = from_source || !directed_;
  if (at_full_cost && (arc.price >= 0 || potential[node] - potential[arc.end] > edge.cost)) return amount;
  return std::min(amount, from_source ? -edge.flow : edge.flow);
}

inline void Residual::add_flow(uint32_t edge, int64_t amount) {
  Edge& changed = edges_[edge];
  const int64_t before = changed.flow;
  changed.flow += amount;
  if ((before > 0) != (changed.flow > 0) || (before < 0) != (changed.flow < 0)) set_prices(changed);
}

inline void Residual::send(uint32_t at, int32_t node, int64_t amount) {
  const Arc& arc = arcs_[at];
  add_flow(arc.edge, at == edges_[arc.edge].at_source ? amount : -amount);
  excess[node] -= amount;
  excess[arc.end] += amount;
}

}  // namespace qw::transport
