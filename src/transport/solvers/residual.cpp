#include "transport/solvers/residual.h"

namespace qw::transport {

Residual::Residual(const Network& network, const Arcs& arcs, const Integers& integers, int64_t factor)
    : potential(network.num_nodes, 0),
      excess(integers.supplies),
      directed_(network.directed),
      offsets_(arcs.offsets.begin(), arcs.offsets.end()),
      arcs_(arcs.arcs.size()),
      prices_back_(arcs.arcs.size()),
      edges_(network.num_edges()),
      supplies_(integers.supplies) {
  for (uint32_t at = 0; at < arcs_.size(); ++at) {
    const int64_t id = arcs.arcs[at];
    arcs_[at].end = arcs.ends[at];
    arcs_[at].edge = static_cast<uint32_t>(id / 2);
    (id % 2 == 0 ? edges_[id / 2].at_source : edges_[id / 2].at_target) = at;
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    edges_[e].cost = integers.costs[e] * factor;
    edges_[e].flow = 0;
    edges_[e].source = network.sources[e];
    edges_[e].target = network.targets[e];
    set_prices(edges_[e]);
  }
}

int64_t Residual::drop_slack_flow() {
  int64_t dropped = 0;
  for (Edge& edge : edges_) {
    if (edge.flow == 0) continue;
    const int64_t gain = potential[edge.source] - potential[edge.target];
    if ((edge.flow > 0 ? gain : -gain) >= edge.cost) continue;
    excess[edge.source] += edge.flow;
    excess[edge.target] -= edge.flow;
    edge.flow = 0;
    set_prices(edge);
    ++dropped;
  }
  return dropped;
}

void Residual::drop_flow() {
  for (Edge& edge : edges_) {
    edge.flow = 0;
    set_prices(edge);
  }
  excess = supplies_;
}

std::vector<int64_t> Residual::flow() const {
  std::vector<int64_t> result(edges_.size());
  for (size_t e = 0; e < edges_.size(); ++e) result[e] = edges_[e].flow;
  return result;
}

__int128 Residual::flow_cost() const {
  __int128 cost = 0;
  for (const Edge& edge : edges_)
    cost += static_cast<__int128>(edge.cost) * (edge.flow < 0 ? -edge.flow : edge.flow);
  return cost;
}

__int128 Residual::gap() const {
  __int128 value = 0;
  for (size_t v = 0; v < supplies_.size(); ++v) value += static_cast<__int128>(supplies_[v]) * potential[v];
  return flow_cost() - value;
}

}  // namespace qw::transport
