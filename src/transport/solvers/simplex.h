// Primal network simplex on signed flows.
//
// A basis is a spanning tree of the nodes and an artificial root. Without capacities only tree edges carry
// flow, so flow is kept per node: `flow` is what its tree edge carries towards the parent. An undirected edge
// may carry it either way; which way the basis means shows in the sign, and zero means upwards:
//   flow >= 0: potential = parent's + cost,   flow < 0: potential = parent's - cost.
// That is a strongly feasible tree: every node can send a little more towards the root. The leaving rule
// keeps it (the last blocking edge of the cycle, seen from its top in the direction of the push), so a pivot
// either lowers the cost or, when it moves nothing, lowers potentials and raises none: no basis comes twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "transport/integers.h"
#include "transport/network.h"
#include "transport/solvers/starting_tree.h"

namespace qw::transport {

template <class Int>
struct Unsigned {
  using Type = std::make_unsigned_t<Int>;
};
template <>
struct Unsigned<Wide> {
  using Type = unsigned __int128;
};

// `Value` holds costs and differences of potentials, `Amount` flows.
template <class Value, class Amount>
class Simplex {
 public:
  // Let L = nodes * largest cost. Bases are at most 1.5 L, artificial prices 2 L + 2, ways in the tree L:
  // potentials differ by at most 9 L + 4, which `Value` must hold.
  Simplex(const Network& network, const ScaledNumbers<Amount>& integers, const StartingTree<Amount>& tree,
          const Deadline& deadline);
  bool run();  // false when the deadline came first

  std::vector<Amount> flow() const;      // [E]
  std::vector<Value> potential() const;  // [N], 0 at the ground, or at the artificial root
  std::vector<int64_t> basis() const;    // the edges of the tree
  Amount unrouted() const;

 private:
  static constexpr int64_t kWorkBetweenLooks = 1 << 18;  // edges looked at and nodes moved: a millisecond
  static constexpr int64_t kWorkOfStep = 8;              // along a cycle, in edges looked at
  static constexpr int64_t kPivotsRemembered = 32;
  static constexpr double kSearchShare = 0.75;  // work of a search, in that of a pivot
  static constexpr double kLeastSearch = 0.5;   // edges, in square roots of their number
  static constexpr double kFirstPrice = 0.5;    // of artificial edges, in mean costs
  static constexpr double kPriceGrowth = 1.5;

  // Potentials may drift and wrap around; their differences do not.
  using Wrapping = typename Unsigned<Value>::Type;
  using Room = typename Unsigned<Amount>::Type;

  struct Node {
    Amount flow;  // towards the parent
    int64_t edge;
    int32_t parent;
    int32_t size;  // of its subtree
    int32_t last;  // of its subtree, in the order of next_
  };
  struct Cycle {
    int32_t inner, outer;  // ends of the entering edge: inside the subtree that is cut off, and outside
    int32_t join;
    int32_t cut;  // root of that subtree
    Amount push;  // added to the flows from `inner` to the join, and taken from those of the other side
  };

  bool is_real(const Node& node) const { return node.edge < network_.num_edges(); }
  Wrapping price(int32_t v, Value artificial) const;
  void link(int32_t node, int32_t next) {
    next_[node] = next;
    before_[next] = node;
  }

  void thread(const StartingTree<Amount>& tree);
  void reprice(Value artificial);
  bool carries_artificial_flow() const;
  void optimise();
  bool out_of_time();
  int64_t find_entering() { return network_.directed ? find_entering<true>() : find_entering<false>(); }
  template <bool kDirected>
  int64_t find_entering();
  void pivot(int64_t entering);
  Cycle find_cycle(int32_t tail, int32_t head);
  int32_t rehang(const Cycle& cycle, int64_t entering, int32_t size);
  void shift(int32_t first, int32_t last, int64_t count, Value by);

  const Network& network_;
  const Deadline& deadline_;
  std::vector<Value> costs_;
  std::vector<Value> bases_;
  std::vector<Node> nodes_;
  std::vector<int32_t> next_;  // depth-first order of the tree, in a ring
  std::vector<int32_t> before_;
  std::vector<Wrapping> potential_;
  int64_t scan_ = 0;  // where the search for an entering edge goes on
  int64_t least_block_;
  int64_t block_;                     // edges that are searched before the best of them is taken
  int64_t recent_work_ = 0;           // of kPivotsRemembered pivots
  int64_t work_ = kWorkBetweenLooks;  // since the last look at the deadline
  bool stopped_ = false;
};

template <class Value, class Amount>
Simplex<Value, Amount>::Simplex(const Network& network, const ScaledNumbers<Amount>& integers,
                                const StartingTree<Amount>& tree, const Deadline& deadline)
    : network_(network),
      deadline_(deadline),
      costs_(integers.costs.begin(), integers.costs.end()),
      bases_(tree.bases.begin(), tree.bases.end()),
      nodes_(tree.order.size()),
      next_(tree.order.size()),
      before_(tree.order.size()),
      potential_(tree.order.size()),
      least_block_(std::max<int64_t>(
          10, std::llround(kLeastSearch * std::sqrt(static_cast<double>(network.num_edges()))))),
      block_(least_block_) {
  thread(tree);
}

// Depth-first order without a stack: a node's place comes after its parent's and those of its earlier
// siblings' subtrees.
template <class Value, class Amount>
void Simplex<Value, Amount>::thread(const StartingTree<Amount>& tree) {
  const size_t count = nodes_.size();
  for (size_t v = 0; v < count; ++v) nodes_[v] = {tree.flows[v], tree.edges[v], tree.parents[v], 1, 0};
  for (size_t i = count; i-- > 1;) {
    const Node& node = nodes_[tree.order[i]];
    nodes_[node.parent].size += node.size;
  }
  std::vector<int32_t> free_place(count);
  std::vector<int32_t> at(count);
  at[0] = tree.order[0];
  free_place[at[0]] = 1;
  for (size_t i = 1; i < count; ++i) {
    const int32_t v = tree.order[i];
    const int32_t place = free_place[nodes_[v].parent];
    free_place[nodes_[v].parent] += nodes_[v].size;
    free_place[v] = place + 1;
    at[place] = v;
  }
  for (size_t i = 0; i < count; ++i) {
    nodes_[at[i]].last = at[i + nodes_[at[i]].size - 1];
    link(at[i], at[i + 1 == count ? 0 : i + 1]);
  }
}

template <class Value, class Amount>
typename Simplex<Value, Amount>::Wrapping Simplex<Value, Amount>::price(int32_t v, Value artificial) const {
  const Node& node = nodes_[v];
  const auto cost = static_cast<Wrapping>(is_real(node) ? costs_[node.edge] : artificial);
  const Wrapping from =
      is_real(node) ? potential_[node.parent] : potential_[node.parent] + static_cast<Wrapping>(bases_[v]);
  return node.flow >= 0 ? from + cost : from - cost;
}

// Sets the price of artificial edges, with the potentials that follow.
template <class Value, class Amount>
void Simplex<Value, Amount>::reprice(Value artificial) {
  const int32_t root = network_.num_nodes;
  potential_[root] = 0;
  for (int32_t v = next_[root]; v != root; v = next_[v]) potential_[v] = price(v, artificial);
}

template <class Value, class Amount>
bool Simplex<Value, Amount>::carries_artificial_flow() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const Node& node) { return !is_real(node) && node.flow != 0; });
}

template <class Value, class Amount>
bool Simplex<Value, Amount>::out_of_time() {
  if (work_ >= kWorkBetweenLooks) {
    work_ = 0;
    stopped_ = deadline_.passed();
  }
  return stopped_;
}

// The best edge of the first block, from where the search stopped, that has any; -1 without.
template <class Value, class Amount>
template <bool kDirected>
int64_t Simplex<Value, Amount>::find_entering() {
  const int64_t count = network_.num_edges();
  const int32_t* const sources = network_.sources.data();
  const int32_t* const targets = network_.targets.data();
  const Value* const costs = costs_.data();
  const Wrapping* const potential = potential_.data();
  for (int64_t left = count; left > 0 && !out_of_time();) {
    const int64_t end = std::min(scan_ + std::min(block_, left), count);
    int64_t best = -1;
    Value most = 0;
    for (int64_t e = scan_; e < end; ++e) {
      const auto down = static_cast<Value>(potential[sources[e]] - potential[targets[e]]);
      const Value gain = (kDirected || down >= 0 ? down : -down) - costs[e];
      if (gain > most) {
        most = gain;
        best = e;
      }
    }
    work_ += end - scan_;
    left -= end - scan_;
    scan_ = end == count ? 0 : end;
    if (best >= 0) return best;
  }
  return -1;
}

// Pushing from tail to head lowers flows that run up from the tail or down to the head.
template <class Value, class Amount>
typename Simplex<Value, Amount>::Cycle Simplex<Value, Amount>::find_cycle(int32_t tail, int32_t head) {
  Room tail_room = ~Room{0} / 2;
  Room head_room = tail_room;
  int32_t tail_cut = kNoNode;
  int32_t head_cut = kNoNode;
  int32_t u = tail;
  int32_t v = head;
  int64_t steps = 0;
  while (u != v) {
    ++steps;
    const Node& below = nodes_[u];
    const Node& above = nodes_[v];
    const bool at_tail = below.size < above.size;
    const auto room = static_cast<Room>(at_tail ? below.flow : ~above.flow);
    if (room < (at_tail ? tail_room : head_room)) [[unlikely]] {
      if (at_tail) {
        tail_room = room;
        tail_cut = u;
      } else {
        head_room = room + 1;
        head_cut = v;
      }
    }
    u = at_tail ? below.parent : u;
    v = at_tail ? v : above.parent;
  }
  recent_work_ += steps * kWorkOfStep;
  if (tail_room < head_room) return {tail, head, u, tail_cut, -static_cast<Amount>(tail_room)};
  return {head, tail, u, head_cut, static_cast<Amount>(head_room)};
}

// Turns the path from the inner end to the cut over, and puts the subtree behind the outer end in the order.
// Returns its last node.
template <class Value, class Amount>
int32_t Simplex<Value, Amount>::rehang(const Cycle& cycle, int64_t entering, int32_t size) {
  int32_t end = cycle.outer;  // of the new order so far
  int32_t after = kNoNode;    // what followed, in the old order, the subtree of the path's node before
  int32_t parent = cycle.outer;
  int32_t was_before = kNoNode;
  Node was{-cycle.push, entering, cycle.outer, 0, kNoNode};  // the path's node before, as it was
  for (int32_t node = cycle.inner;;) {
    const Node now = nodes_[node];
    const int32_t following = next_[now.last];
    const int32_t now_before = before_[node];
    link(end, node);
    if (parent == cycle.outer) {
      end = now.last;
      after = following;
    } else {
      end = was_before;
      if (now.last != was.last) {
        link(end, after);
        end = now.last;
        after = following;
      }
    }
    nodes_[node].flow = was.flow;
    nodes_[node].edge = was.edge;
    nodes_[node].parent = parent;
    nodes_[node].size = size - was.size;
    if (node == cycle.cut) break;
    was = now;
    was_before = now_before;
    was.flow = -(now.flow + cycle.push);
    parent = node;
    node = now.parent;
  }
  for (int32_t node = cycle.cut; node != cycle.outer; node = nodes_[node].parent) nodes_[node].last = end;
  return end;
}

// From both ends at once: walking a list waits for memory, walking two waits half as long.
template <class Value, class Amount>
void Simplex<Value, Amount>::shift(int32_t first, int32_t last, int64_t count, Value by) {
  work_ += count;
  recent_work_ += count;
  const auto step = static_cast<Wrapping>(by);
  for (int64_t pairs = count / 2; pairs > 0; --pairs) {
    potential_[first] += step;
    potential_[last] += step;
    first = next_[first];
    last = before_[last];
  }
  if (count % 2 == 1) potential_[first] += step;
}

template <class Value, class Amount>
void Simplex<Value, Amount>::pivot(int64_t entering) {
  const int32_t source = network_.sources[entering];
  const int32_t target = network_.targets[entering];
  const auto down = static_cast<Value>(potential_[source] - potential_[target]);
  const Cycle cycle = down >= 0 ? find_cycle(source, target) : find_cycle(target, source);
  const Node cut = nodes_[cycle.cut];
  for (int32_t v = cut.parent; v != cycle.join; v = nodes_[v].parent) {
    nodes_[v].flow += cycle.push;
    nodes_[v].size -= cut.size;
  }
  for (int32_t v = cycle.outer; v != cycle.join; v = nodes_[v].parent) {
    nodes_[v].flow -= cycle.push;
    nodes_[v].size += cut.size;
  }

  const int32_t front = before_[cycle.cut];
  link(front, next_[cut.last]);
  for (int32_t v = cut.parent; v != kNoNode && nodes_[v].last == cut.last; v = nodes_[v].parent) {
    nodes_[v].last = front;
  }
  const int32_t behind = next_[cycle.outer];
  const int32_t last = rehang(cycle, entering, cut.size);
  link(last, behind);
  for (int32_t v = cycle.outer; v != kNoNode && nodes_[v].last == cycle.outer; v = nodes_[v].parent) {
    nodes_[v].last = last;
  }

  // Only differences count, so the smaller part moves.
  const Value gain = (down >= 0 ? down : -down) - costs_[entering];
  const Value rise = cycle.push > 0 ? gain : -gain;
  const int64_t others = network_.num_nodes + 1 - cut.size;
  if (cut.size <= others) {
    shift(cycle.inner, last, cut.size, rise);
  } else {
    shift(behind, cycle.outer, others, -rise);
  }
}

// The more a pivot costs, the longer the search for a good one: little in the small trees of the beginning,
// much at the end.
template <class Value, class Amount>
void Simplex<Value, Amount>::optimise() {
  for (int64_t entering = find_entering(); entering >= 0; entering = find_entering()) {
    recent_work_ -= recent_work_ / kPivotsRemembered;
    pivot(entering);
    const auto share =
        static_cast<int64_t>(kSearchShare / kPivotsRemembered * static_cast<double>(recent_work_));
    block_ = std::max(least_block_, std::min(share, network_.num_edges()));
  }
}

// Artificial edges start cheap, so that supplies find their ways nearby first, in small trees where pivots
// are quick. At their last price a way over two of them costs more than any simple way over real edges, so
// that an optimum has as little artificial flow as can be.
template <class Value, class Amount>
bool Simplex<Value, Amount>::run() {
  double sum = 0;
  double largest = 0;
  for (const Value cost : costs_) {
    sum += static_cast<double>(cost);
    largest = std::max(largest, static_cast<double>(cost));
  }
  const auto [least_base, most_base] = std::minmax_element(bases_.begin(), bases_.end());
  const double spread = static_cast<double>(*most_base) - static_cast<double>(*least_base);
  const double last_price = std::ceil((spread + largest * network_.num_nodes) / 2) + 1;
  double artificial =
      std::max(1.0, kFirstPrice * sum / static_cast<double>(std::max<size_t>(1, costs_.size())));
  while (true) {
    artificial = std::min(last_price, std::ceil(artificial));
    reprice(static_cast<Value>(artificial));
    optimise();
    if (stopped_) return false;
    if (artificial == last_price || !carries_artificial_flow()) return true;
    artificial *= kPriceGrowth;
  }
}

template <class Value, class Amount>
std::vector<Amount> Simplex<Value, Amount>::flow() const {
  std::vector<Amount> flow(network_.num_edges(), 0);
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    const Node& node = nodes_[v];
    if (is_real(node)) flow[node.edge] = network_.sources[node.edge] == v ? node.flow : -node.flow;
  }
  return flow;
}

template <class Value, class Amount>
std::vector<Value> Simplex<Value, Amount>::potential() const {
  const Wrapping zero = potential_[network_.ground == kNoNode ? network_.num_nodes : network_.ground];
  std::vector<Value> potential(network_.num_nodes);
  for (int32_t v = 0; v < network_.num_nodes; ++v) potential[v] = static_cast<Value>(potential_[v] - zero);
  return potential;
}

template <class Value, class Amount>
std::vector<int64_t> Simplex<Value, Amount>::basis() const {
  std::vector<int64_t> edges;
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    if (is_real(nodes_[v])) edges.push_back(nodes_[v].edge);
  }
  return edges;
}

template <class Value, class Amount>
Amount Simplex<Value, Amount>::unrouted() const {
  Amount sum = 0;
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    if (!is_real(nodes_[v])) sum += std::max<Amount>(nodes_[v].flow, 0);
  }
  return sum;
}

}  // namespace qw::transport
