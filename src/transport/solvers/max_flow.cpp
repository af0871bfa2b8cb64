// Where all costs are the same c and every node can give and take at the ground for c, sending one unit from
// a supply straight to the demand next to it saves c, and no longer way saves anything. The distance is then
// c (sum |supply| - the most that can be sent straight), a maximum flow in a bipartite network (Dinic 1970).
// Its minimum cut covers all the straight edges: nodes in it have potential 0, other supplies c and other
// demands -c.
#include <algorithm>

#include "transport/integers.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

class StraightFlow {
 public:
  StraightFlow(const Network& network, const Arcs& arcs, const std::vector<int64_t>& supplies);

  // False: the deadline came first.
  bool maximise(const Deadline& deadline);
  bool in_cut(int32_t node) const { return is_supply_[node] == (level_[node] < 0); }
  int64_t left(int32_t node) const { return left_[node]; }
  // Adds the straight flow to that of the edges.
  void add_to(std::vector<double>& edge_flow, double unit) const;

 private:
  struct Arc {
    int32_t end;
    uint32_t pair;  // where its flow stands
  };
  bool find_levels();
  void send_from(int32_t start);
  void send_along_path(int32_t start);
  bool leads_on(int32_t node, const Arc& arc) const {
    return level_[arc.end] == level_[node] + 1 && (is_supply_[node] || flow_[arc.pair] > 0);
  }

  std::vector<int64_t> left_;  // supply > 0 or demand < 0 that is not met yet
  std::vector<bool> is_supply_;
  std::vector<uint32_t> offsets_;
  std::vector<Arc> arcs_;
  std::vector<int64_t> flow_;       // by pair
  std::vector<int64_t> pair_arcs_;  // as `Arcs` numbers them, at the supply
  std::vector<int32_t> level_;      // steps from a supply that is left; -1: none leads here
  std::vector<int32_t> order_;
  std::vector<uint32_t> current_;
  std::vector<Arc> path_;
};

StraightFlow::StraightFlow(const Network& network, const Arcs& arcs, const std::vector<int64_t>& supplies)
    : left_(supplies), is_supply_(network.num_nodes), level_(network.num_nodes), current_(network.num_nodes) {
  if (network.ground != kNoNode) left_[network.ground] = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) is_supply_[v] = left_[v] > 0;
  std::vector<uint32_t> pair_of_edge(network.num_edges());
  const auto straight = [&](int32_t from, int32_t to) {
    return (left_[from] > 0 && left_[to] < 0) || (left_[from] < 0 && left_[to] > 0);
  };
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    if (!straight(network.sources[e], network.targets[e])) continue;
    pair_of_edge[e] = static_cast<uint32_t>(pair_arcs_.size());
    pair_arcs_.push_back(is_supply_[network.sources[e]] ? 2 * e : 2 * e + 1);
  }
  flow_.assign(pair_arcs_.size(), 0);
  offsets_.assign(1, 0);
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    for (int64_t k = arcs.offsets[v]; k < arcs.offsets[v + 1]; ++k) {
      if (straight(v, arcs.ends[k])) arcs_.push_back({arcs.ends[k], pair_of_edge[arcs.arcs[k] / 2]});
    }
    offsets_.push_back(static_cast<uint32_t>(arcs_.size()));
  }
}

// Breadth first from the supplies that are left; whether a demand that is left was found.
bool StraightFlow::find_levels() {
  order_.clear();
  for (int32_t v = 0; v < static_cast<int32_t>(left_.size()); ++v) {
    level_[v] = left_[v] > 0 ? 0 : -1;
    if (left_[v] > 0) order_.push_back(v);
  }
  bool found = false;
  for (size_t i = 0; i < order_.size(); ++i) {
    const int32_t node = order_[i];
    current_[node] = offsets_[node];
    found = found || left_[node] < 0;
    for (uint32_t k = offsets_[node]; k < offsets_[node + 1]; ++k) {
      const Arc& arc = arcs_[k];
      if (level_[arc.end] >= 0 || !(is_supply_[node] || flow_[arc.pair] > 0)) continue;
      level_[arc.end] = level_[node] + 1;
      order_.push_back(arc.end);
    }
  }
  return found;
}

void StraightFlow::send_along_path(int32_t start) {
  int64_t amount = std::min(left_[start], -left_[path_.back().end]);
  for (size_t i = 1; i < path_.size(); i += 2) amount = std::min(amount, flow_[path_[i].pair]);
  for (size_t i = 0; i < path_.size(); ++i) flow_[path_[i].pair] += i % 2 == 0 ? amount : -amount;
  left_[start] -= amount;
  left_[path_.back().end] += amount;
}

// Sends what is left at `start` along levels, as far as it goes.
void StraightFlow::send_from(int32_t start) {
  path_.clear();
  int32_t node = start;
  while (left_[start] > 0) {
    uint32_t& at = current_[node];
    while (at < offsets_[node + 1] && !leads_on(node, arcs_[at])) ++at;
    if (at < offsets_[node + 1]) {
      path_.push_back(arcs_[at]);
      node = arcs_[at].end;
      if (left_[node] >= 0) continue;
      send_along_path(start);
      path_.clear();
      node = start;
    } else if (node == start) {
      return;
    } else {
      level_[node] = -1;  // a dead end
      path_.pop_back();
      node = path_.empty() ? start : path_.back().end;
    }
  }
}

bool StraightFlow::maximise(const Deadline& deadline) {
  constexpr int kNodesPerLook = 64;
  while (find_levels()) {
    int until_look = kNodesPerLook;
    for (const int32_t node : order_) {
      if (level_[node] > 0) break;
      if (left_[node] > 0) send_from(node);
      if (--until_look > 0) continue;
      if (deadline.passed()) return false;
      until_look = kNodesPerLook;
    }
  }
  return true;
}

void StraightFlow::add_to(std::vector<double>& edge_flow, double unit) const {
  for (size_t pair = 0; pair < flow_.size(); ++pair) {
    const double amount = static_cast<double>(flow_[pair]) * unit;
    edge_flow[pair_arcs_[pair] / 2] += pair_arcs_[pair] % 2 == 0 ? amount : -amount;
  }
}

// The flow of every edge to the ground that takes what is left, over one edge of each node.
void add_ground_flow(const Network& network, const Arcs& arcs, const StraightFlow& straight, double unit,
                     std::vector<double>& edge_flow) {
  std::vector<bool> done(network.num_nodes, false);
  for (int64_t k = arcs.offsets[network.ground]; k < arcs.offsets[network.ground + 1]; ++k) {
    const int32_t node = arcs.ends[k];
    if (done[node]) continue;
    done[node] = true;
    const double amount = static_cast<double>(straight.left(node)) * unit;
    edge_flow[arcs.arcs[k] / 2] = arcs.arcs[k] % 2 == 0 ? -amount : amount;
  }
}

}  // namespace

const char* refuses_max_flow(const Network& network, std::span<const double> supply) {
  if (network.directed) return "max-flow takes undirected networks only";
  if (network.ground == kNoNode) return "max-flow needs unlabelled nodes";
  if (network.costs.empty() || network.costs[0] <= 0) return "max-flow needs positive costs";
  for (const double cost : network.costs) {
    if (cost != network.costs[0]) return "max-flow needs all costs to be the same";
  }
  std::vector<bool> grounded(network.num_nodes, false);
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    if (network.sources[e] == network.ground) grounded[network.targets[e]] = true;
    if (network.targets[e] == network.ground) grounded[network.sources[e]] = true;
  }
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v != network.ground && supply[v] != 0 && !grounded[v]) {
      return "max-flow needs every labelled node with something to send or take to have an unlabelled "
             "neighbour";
    }
  }
  return nullptr;
}

Answer solve_max_flow(const Network& network, const Arcs& arcs, std::span<const double> supply,
                      const Limits& limits, Memory&) {
  const Integers integers = integers_of(network, supply, 1);
  StraightFlow straight(network, arcs, integers.supplies);
  const bool solved = straight.maximise(limits.deadline);
  Answer answer;
  answer.outcome = solved ? Outcome::kSolved : Outcome::kStopped;
  answer.flow.assign(network.num_edges(), 0.0);
  add_ground_flow(network, arcs, straight, integers.supply_unit, answer.flow);
  straight.add_to(answer.flow, integers.supply_unit);
  answer.potential.assign(network.num_nodes, 0.0);
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground || integers.supplies[v] == 0) continue;
    const double size = !solved ? network.costs[0] / 2 : straight.in_cut(v) ? 0 : network.costs[0];
    answer.potential[v] = integers.supplies[v] > 0 ? size : -size;
  }
  return answer;
}

}  // namespace qw::transport
