// Primal network simplex on signed flows.
//
// A basis is a spanning tree of the nodes and an artificial root. Without capacities only tree edges carry
// flow, so flow is kept per node: `flow` is what its tree edge carries towards the parent. An undirected edge
// may carry it either way; which way the basis means shows in the sign, and zero means upwards:
//   flow >= 0: potential = parent's + cost,   flow < 0: potential = parent's - cost.
// That is a strongly feasible tree: every node can send a little more towards the root. The leaving rule
// keeps it (the last blocking edge of the cycle, seen from its top in the direction of the push), so a pivot
// either lowers the cost or, when it moves nothing, lowers potentials and raises none: no basis comes twice.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "transport/integers.h"
#include "transport/solvers/solvers.h"
#include "transport/solvers/starting_tree.h"

namespace qw::transport {
namespace {

constexpr int kLargestCostBits = 52;
constexpr int64_t kWorkBetweenLooks = 1 << 18;  // edges looked at and nodes moved: about a millisecond
constexpr int64_t kWorkOfStep = 8;              // along a cycle, in edges looked at
constexpr int64_t kPivotsRemembered = 32;
constexpr double kSearchShare = 0.75;  // work of a search, in that of a pivot
constexpr double kLeastSearch = 0.5;   // edges, in square roots of their number
constexpr double kFirstPrice = 0.5;    // of artificial edges, in mean costs
constexpr double kPriceGrowth = 1.5;

// `Value` holds costs and differences of potentials.
template <class Value>
class Simplex {
 public:
  Simplex(const Network& network, const Integers& integers, const StartingTree& tree,
          const Deadline& deadline);
  bool run();  // false when the deadline came first
  Answer answer(const Integers& integers, Memory& memory) const;

 private:
  // Potentials may drift and wrap around; their differences do not.
  using Wrapping = std::make_unsigned_t<Value>;

  struct Node {
    int64_t flow;  // towards the parent
    int64_t edge;
    int32_t parent;
    int32_t size;  // of its subtree
    int32_t last;  // of its subtree, in the order of next_
  };
  struct Cycle {
    int32_t inner, outer;  // ends of the entering edge: inside the subtree that is cut off, and outside
    int32_t join;
    int32_t cut;   // root of that subtree
    int64_t push;  // added to the flows from `inner` to the join, and taken from those of the other side
  };

  bool is_real(const Node& node) const { return node.edge < network_.num_edges(); }
  Wrapping price(int32_t v, Value artificial) const;
  void link(int32_t node, int32_t next) {
    next_[node] = next;
    before_[next] = node;
  }

  void thread(const StartingTree& tree);
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

template <class Value>
Simplex<Value>::Simplex(const Network& network, const Integers& integers, const StartingTree& tree,
                        const Deadline& deadline)
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
template <class Value>
void Simplex<Value>::thread(const StartingTree& tree) {
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

template <class Value>
typename Simplex<Value>::Wrapping Simplex<Value>::price(int32_t v, Value artificial) const {
  const Node& node = nodes_[v];
  const auto cost = static_cast<Wrapping>(is_real(node) ? costs_[node.edge] : artificial);
  const Wrapping from =
      is_real(node) ? potential_[node.parent] : potential_[node.parent] + static_cast<Wrapping>(bases_[v]);
  return node.flow >= 0 ? from + cost : from - cost;
}

// Sets the price of artificial edges, with the potentials that follow.
template <class Value>
void Simplex<Value>::reprice(Value artificial) {
  const int32_t root = network_.num_nodes;
  potential_[root] = 0;
  for (int32_t v = next_[root]; v != root; v = next_[v]) potential_[v] = price(v, artificial);
}

template <class Value>
bool Simplex<Value>::carries_artificial_flow() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const Node& node) { return !is_real(node) && node.flow != 0; });
}

template <class Value>
bool Simplex<Value>::out_of_time() {
  if (work_ >= kWorkBetweenLooks) {
    work_ = 0;
    stopped_ = deadline_.passed();
  }
  return stopped_;
}

// The best edge of the first block, from where the search stopped, that has any; -1 without.
template <class Value>
template <bool kDirected>
int64_t Simplex<Value>::find_entering() {
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
template <class Value>
typename Simplex<Value>::Cycle Simplex<Value>::find_cycle(int32_t tail, int32_t head) {
  uint64_t tail_room = std::numeric_limits<uint64_t>::max() / 2;
  uint64_t head_room = tail_room;
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
    const auto room = static_cast<uint64_t>(at_tail ? below.flow : ~above.flow);
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
  if (tail_room < head_room) return {tail, head, u, tail_cut, -static_cast<int64_t>(tail_room)};
  return {head, tail, u, head_cut, static_cast<int64_t>(head_room)};
}

// Turns the path from the inner end to the cut over, and puts the subtree behind the outer end in the order.
// Returns its last node.
template <class Value>
int32_t Simplex<Value>::rehang(const Cycle& cycle, int64_t entering, int32_t size) {
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
template <class Value>
void Simplex<Value>::shift(int32_t first, int32_t last, int64_t count, Value by) {
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

template <class Value>
void Simplex<Value>::pivot(int64_t entering) {
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
template <class Value>
void Simplex<Value>::optimise() {
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
template <class Value>
bool Simplex<Value>::run() {
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

template <class Value>
Answer Simplex<Value>::answer(const Integers& integers, Memory& memory) const {
  Answer answer;
  answer.flow.assign(network_.num_edges(), 0.0);
  memory.basis.clear();
  int64_t unrouted = 0;
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    const Node& node = nodes_[v];
    if (!is_real(node)) {
      unrouted += std::max<int64_t>(node.flow, 0);
      continue;
    }
    const auto flow = static_cast<double>(network_.sources[node.edge] == v ? node.flow : -node.flow);
    answer.flow[node.edge] = flow * integers.supply_unit;
    memory.basis.push_back(node.edge);
  }
  answer.unrouted = static_cast<double>(unrouted) * integers.supply_unit;

  const Wrapping zero = potential_[network_.ground == kNoNode ? network_.num_nodes : network_.ground];
  answer.potential.resize(network_.num_nodes);
  double mean = 0;
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    answer.potential[v] = static_cast<double>(static_cast<Value>(potential_[v] - zero)) * integers.cost_unit;
    mean += answer.potential[v] / network_.num_nodes;
  }
  if (network_.ground == kNoNode) {
    for (double& value : answer.potential) value -= mean;
  }
  memory.potential = answer.potential;
  return answer;
}

template <class Value>
Answer solve_with(const Network& network, const Integers& integers, const StartingTree& tree,
                  const Limits& limits, Memory& memory) {
  Simplex<Value> simplex(network, integers, tree, limits.deadline);
  const bool finished = simplex.run();
  Answer answer = simplex.answer(integers, memory);
  if (!finished) {
    answer.outcome = Outcome::kStopped;
  } else if (answer.unrouted > 0) {
    answer.outcome = Outcome::kInfeasible;
  }
  return answer;
}

}  // namespace

Answer solve_network_simplex(const Network& network, const Arcs& arcs, std::span<const double> supply,
                             const Limits& limits, Memory& memory) {
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes));
  const Integers integers = integers_of(network, supply, std::min(kLargestCostBits, 59 - node_bits));
  const StartingTree tree = starting_tree(network, arcs, integers, memory);
  int64_t largest = 0;
  for (const int64_t cost : integers.costs) largest = std::max(largest, cost);
  // Let L = nodes * largest cost. Bases are at most 1.5 L, artificial prices 2 L + 2, ways in the tree L:
  // potentials differ by at most 9 L + 4.
  const bool narrow = std::bit_width(static_cast<uint64_t>(largest)) + node_bits + 4 <= 31;
  return narrow ? solve_with<int32_t>(network, integers, tree, limits, memory)
                : solve_with<int64_t>(network, integers, tree, limits, memory);
}

}  // namespace qw::transport
