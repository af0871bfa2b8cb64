// Cost scaling by partial augmentations and relabels (Goldberg and Tarjan 1990; Goldberg 2008; Kovács 2015),
// for networks without capacities.
//
// A phase begins with an exactly feasible potential and with flow only where it is tight. Nodes with excess
// send along arcs that pay, at most kPathLength of them at a time, and raise their potential by a little more
// than what is missing when none does. The phase ends with a flow that meets the supplies and is
// epsilon-optimal. Cycles of flow are then cancelled, the potential is made tight on the forest that is left,
// which often proves the optimum, and if not it is lowered until it is feasible: that gives the true gap, and
// the beginning of the next phase with a smaller epsilon.
//
// At the beginning of a phase no arc pays, and raising u makes no arc towards u pay: so arcs that pay never
// form a cycle, and the usual proof of termination holds.
#include <bit>
#include <cmath>
#include <limits>

#include "transport/certificate.h"
#include "transport/solvers/flow_forest.h"
#include "transport/solvers/lowering.h"
#include "transport/solvers/residual.h"
#include "transport/solvers/solvers.h"
#include "transport/solvers/watch.h"

namespace qw::transport {
namespace {

constexpr int kPathLength = 4;
constexpr int64_t kFirstEpsilon = 64;   // parts of the largest cost
constexpr int64_t kWarmEpsilon = 1024;  // the same, with a potential to start from
constexpr int64_t kShrink = 16;         // of epsilon, from phase to phase
constexpr double kPivotGap = 1e-2;      // below this network simplex needs few pivots and is quicker,
constexpr double kPivotNodes = 2e5;     // the gap smaller by the square of how much larger the network is
constexpr int32_t kMostRanks = 1 << 14;
constexpr int64_t kLoweringSweeps = 10;  // over all arcs, before the search gets more careful
constexpr int64_t kProofSweeps = 3;      // before a potential is taken for not optimal
constexpr int64_t kTreeSweeps = 10;      // the same where trees have to be shifted against each other
constexpr int64_t kLastSweeps = 1000;    // the same with nothing left to try
constexpr int kPotentialBits = 59;
constexpr int kMostCostBits = 50;                  // more would be lost in the doubles of the answer
constexpr int64_t kMostExcess = int64_t{1} << 57;  // of all nodes together
constexpr uint32_t kNoArc = ~uint32_t{0};

// Nodes by rank; one may stand in several buckets.
class Buckets {
 public:
  int32_t count() const { return static_cast<int32_t>(heads_.size()); }
  void clear() {
    heads_.clear();
    entries_.clear();
  }
  void push(int32_t rank, int32_t node) {
    if (rank >= count()) heads_.resize(rank + 1, kNoEntry);
    entries_.push_back({node, heads_[rank]});
    heads_[rank] = static_cast<uint32_t>(entries_.size() - 1);
  }
  int32_t pop(int32_t rank) {
    if (heads_[rank] == kNoEntry) return kNoNode;
    const Entry& entry = entries_[heads_[rank]];
    heads_[rank] = entry.next;
    return entry.node;
  }

 private:
  static constexpr uint32_t kNoEntry = ~uint32_t{0};
  struct Entry {
    int32_t node;
    uint32_t next;
  };
  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

class CostScaling {
 public:
  CostScaling(Residual& net, const Limits& limits)
      : net_(net),
        limits_(limits),
        watch_(limits.deadline),
        forest_(net),
        active_(net.num_nodes()),
        current_(net.num_nodes()),
        ranks_(net.num_nodes()),
        flow_(net.flow()),
        potential_(net.num_nodes(), 0) {}

  // Begins with the nearest demand of every node, or with a potential that is close to an optimal one.
  void start_cold(int64_t highest);
  void start_warm(std::vector<int64_t> potential);
  Outcome run(int64_t epsilon);  // a power of two

  const std::vector<int64_t>& flow() const { return flow_; }
  const std::vector<int64_t>& potential() const { return potential_; }
  // The flow is a spanning tree, and close enough to the optimum for network simplex to finish.
  bool leaves_to_pivots() const { return leaves_to_pivots_; }

 private:
  void start_phase();
  bool run_phase(int64_t epsilon);
  bool augment_from(int32_t start);
  uint32_t find_paying_arc(int32_t node);
  void send_along_path(int32_t start, int length);
  void raise_by_distance();
  bool lower_to_feasible();
  bool lower_to_optimal(int64_t sweeps);
  bool prove_optimal(bool last);

  Residual& net_;
  const Limits& limits_;
  Watch watch_;
  FlowForest forest_;
  NodeQueue active_;
  std::vector<uint32_t> current_;  // the arc of each node where the search goes on
  std::vector<int32_t> ranks_;
  Buckets buckets_;
  uint32_t path_[kPathLength] = {};
  int64_t epsilon_ = 1;
  int64_t relabels_ = 0;
  double gap_ = 0;  // relative
  bool leaves_to_pivots_ = false;
  std::vector<int64_t> flow_;       // of the last phase that was finished
  std::vector<int64_t> potential_;  // feasible
};

bool CostScaling::lower_to_feasible() {
  const bool directed = net_.directed();
  const auto cost = [&](uint32_t at) {
    const int64_t price = net_.price_back(at);
    return price >= 0 ? price : directed ? kNoWay : -price;
  };
  return lower_from_all(net_, active_, kLoweringSweeps * 2 * net_.num_edges(), watch_, cost) ||
         (!watch_.passed() && lower_in_order(net_, watch_, cost));
}

void CostScaling::start_cold(int64_t highest) {
  std::vector<int64_t> nearest(net_.num_nodes());
  for (int32_t v = 0; v < net_.num_nodes(); ++v) nearest[v] = net_.excess[v] < 0 ? 0 : highest;
  start_warm(std::move(nearest));
}

void CostScaling::start_warm(std::vector<int64_t> potential) {
  net_.potential = std::move(potential);
  if (lower_to_feasible()) {
    potential_ = net_.potential;
  } else {
    net_.potential = potential_;
  }
}

void CostScaling::start_phase() {
  int64_t lowest = net_.potential[0];
  for (const int64_t value : net_.potential) lowest = std::min(lowest, value);
  for (int64_t& value : net_.potential) value -= lowest;
  net_.drop_slack_flow();
  int64_t excess = 0;
  for (const int64_t value : net_.excess)
    excess = std::min(kMostExcess, excess + std::max<int64_t>(value, 0));
  if (excess == kMostExcess) net_.drop_flow();
}

// The next arc that pays; none: raises the node.
uint32_t CostScaling::find_paying_arc(int32_t node) {
  const std::vector<int64_t>& potential = net_.potential;
  const int64_t here = potential[node];
  const uint32_t first = net_.begin(node), last = net_.end(node);
  int64_t lowest = std::numeric_limits<int64_t>::max() - epsilon_;
  for (uint32_t at = current_[node]; at < last; ++at) {
    const Residual::Arc& arc = net_.arc(at);
    const int64_t level = potential[arc.end] + arc.price;
    if (level < here) {
      current_[node] = at;
      return at;
    }
    lowest = std::min(lowest, level);
  }
  for (uint32_t at = first; at < current_[node]; ++at) {
    const Residual::Arc& arc = net_.arc(at);
    lowest = std::min(lowest, potential[arc.end] + arc.price);
  }
  watch_.passed(last - first);
  net_.potential[node] = lowest + epsilon_;
  current_[node] = first;
  ++relabels_;
  return kNoArc;
}

void CostScaling::send_along_path(int32_t start, int length) {
  int32_t node = start;
  for (int i = 0; i < length; ++i) {
    const int32_t end = net_.arc(path_[i]).end;
    const int64_t amount = net_.room(path_[i], node, net_.excess[node]);
    net_.send(path_[i], node, amount);
    if (net_.excess[end] > 0) active_.push(end);
    node = end;
  }
}

// Sends excess along one path of arcs that pay. False: the deadline came first.
bool CostScaling::augment_from(int32_t start) {
  int32_t nodes[kPathLength + 1] = {start};
  int length = 0;
  while (length < kPathLength && net_.excess[nodes[length]] >= 0) {
    const uint32_t arc = find_paying_arc(nodes[length]);
    if (arc != kNoArc) {
      path_[length++] = arc;
      nodes[length] = net_.arc(arc).end;
    } else if (length > 0) {
      --length;
    } else if (watch_.passed()) {
      return false;
    }
  }
  send_along_path(start, length);
  return true;
}

bool CostScaling::run_phase(int64_t epsilon) {
  epsilon_ = epsilon;
  relabels_ = 0;
  int64_t next_update = 0;
  active_.clear();
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    current_[v] = net_.begin(v);
    if (net_.excess[v] > 0) active_.push(v);
  }
  while (!active_.empty()) {
    if (relabels_ >= next_update) {
      raise_by_distance();
      next_update = relabels_ + net_.num_nodes();
    }
    const int32_t node = active_.front();
    if (net_.excess[node] <= 0) {
      active_.pop();
    } else if (!augment_from(node)) {
      return false;
    }
  }
  return true;
}

// Raises every node by its distance to the nearest demand, in steps of epsilon, but no further than the
// furthest excess.
void CostScaling::raise_by_distance() {
  std::vector<int64_t>& potential = net_.potential;
  const int shift = std::countr_zero(static_cast<uint64_t>(epsilon_));
  int64_t to_reach = 0;
  buckets_.clear();
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    ranks_[v] = kMostRanks;
    if (net_.excess[v] < 0) buckets_.push(ranks_[v] = 0, v);
    to_reach += net_.excess[v] > 0;
  }
  int32_t rank = 0;
  for (; rank < buckets_.count() && to_reach > 0; ++rank) {
    for (int32_t node = 0; (node = buckets_.pop(rank)) != kNoNode;) {
      if (ranks_[node] != rank) continue;
      ranks_[node] = ~rank;  // settled
      to_reach -= net_.excess[node] > 0;
      for (uint32_t at = net_.begin(node); at < net_.end(node); ++at) {
        const int32_t other = net_.arc(at).end;
        if (ranks_[other] <= rank) continue;
        const int64_t missing = net_.price_back(at) - potential[other] + potential[node];
        const int64_t there = rank + (missing >> shift) + 1;
        if (there < ranks_[other]) buckets_.push(ranks_[other] = static_cast<int32_t>(there), other);
      }
    }
  }
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    potential[v] += epsilon_ * int64_t{ranks_[v] < 0 ? ~ranks_[v] : rank};
    current_[v] = net_.begin(v);
  }
  watch_.passed(2 * net_.num_edges());
}

// Lowers the potential to one with which the flow is optimal; if there is none, or it is not found, leaves it
// as it was.
bool CostScaling::lower_to_optimal(int64_t sweeps) {
  std::vector<int64_t> before = net_.potential;
  const auto price = [&](uint32_t at) { return net_.price_back(at); };
  if (lower_from_all(net_, active_, sweeps * 2 * net_.num_edges(), watch_, price)) return true;
  net_.potential = std::move(before);
  return false;
}

// Whether the flow is optimal, and so is then the potential. If not, the potential is tight on a forest of
// flow if possible.
bool CostScaling::prove_optimal(bool last) {
  if (lower_to_optimal(kProofSweeps)) return true;
  const bool is_tight = forest_.cancel_cycles(watch_) && forest_.tighten();
  if (last) return lower_to_optimal(kLastSweeps);
  // A single tree has one potential only; several can still be shifted against each other.
  return is_tight && lower_to_optimal(forest_.is_tree() ? 0 : kTreeSweeps);
}

Outcome CostScaling::run(int64_t epsilon) {
  for (bool first = true;; first = false, epsilon = std::max<int64_t>(1, epsilon / kShrink)) {
    start_phase();
    const bool finished = run_phase(epsilon);
    if (finished || first) flow_ = net_.flow();
    if (!finished) return Outcome::kStopped;
    const bool optimal = prove_optimal(epsilon == 1);
    flow_ = net_.flow();
    if (!optimal && !lower_to_feasible()) return Outcome::kStopped;
    potential_ = net_.potential;
    gap_ = static_cast<double>(net_.gap()) / std::max(1.0, static_cast<double>(net_.flow_cost()));
    if (optimal || epsilon == 1 || gap_ <= limits_.gap) return Outcome::kSolved;
    const double times_larger = std::max(1.0, net_.num_nodes() / kPivotNodes);
    leaves_to_pivots_ = forest_.is_tree() && gap_ <= kPivotGap / (times_larger * times_larger);
    if (leaves_to_pivots_) return Outcome::kSolved;
  }
}

// How many edges the shortest way between two nodes can have at most; 0: there is not always one.
int32_t longest_way(const Network& network, const Arcs& arcs) {
  const Routes routes = routes_of(network, arcs);
  const auto depth = [&](const Routes::Tree& tree) {
    if (static_cast<int32_t>(tree.order.size()) < network.num_nodes) return 0;
    std::vector<int32_t> depths(network.num_nodes, 0);
    for (size_t i = 1; i < tree.order.size(); ++i) {
      const int64_t arc = tree.arcs[tree.order[i]];
      const int32_t parent = arc % 2 == 0 ? network.targets[arc / 2] : network.sources[arc / 2];
      depths[tree.order[i]] = depths[parent] + 1;
    }
    return depths[tree.order.back()];
  };
  const int32_t to = depth(routes.to_root), from = network.directed ? depth(routes.from_root) : to;
  return to == 0 || from == 0 ? 0 : to + from;
}

// Integer costs, and a factor that makes 1 less than an N-th of them, as far as there is room.
struct Scaled {
  Integers integers;
  int64_t factor = 1;
  int64_t largest = 0;  // cost, times factor
};

// Every node with excess has a way to a demand, whose potential stays, and over each of its edges the
// potential falls by at most cost + epsilon: so within a phase potentials stay below twice longest way *
// (largest cost + epsilon).
Scaled scale(const Network& network, std::span<const double> supply, int32_t way) {
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes));
  const int bits = kPotentialBits - 3 - std::bit_width(static_cast<uint32_t>(way));
  Scaled scaled{integers_of(network, supply, std::min(bits, kMostCostBits))};
  for (const int64_t cost : scaled.integers.costs) scaled.largest = std::max(scaled.largest, cost);
  const int used = std::bit_width(static_cast<uint64_t>(scaled.largest));
  scaled.factor = int64_t{1} << std::clamp(bits - used, 0, node_bits);
  scaled.largest *= scaled.factor;
  return scaled;
}

// The remembered potential in units of the solver; empty when it is of no use.
std::vector<int64_t> remembered(const Memory& memory, int32_t num_nodes, double unit) {
  const double most = std::ldexp(1.0, kPotentialBits - 1);
  std::vector<int64_t> result;
  if (memory.potential.size() != static_cast<size_t>(num_nodes) || unit == 0) return result;
  for (const double value : memory.potential) {
    if (!std::isfinite(value)) return {};
    result.push_back(std::llround(std::clamp(value / unit, -most, most)));
  }
  return result;
}

std::vector<double> in_units(const std::vector<int64_t>& values, double unit) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) result[i] = static_cast<double>(values[i]) * unit;
  return result;
}

void finish_by_pivots(const Network& network, const Arcs& arcs, std::span<const double> supply,
                      const Limits& limits, Memory& memory, Answer& answer) {
  memory.basis.clear();
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    if (answer.flow[e] != 0) memory.basis.push_back(e);
  }
  Answer finished = solve_network_simplex(network, arcs, supply, limits, memory);
  if (finished.outcome == Outcome::kSolved) {
    answer = std::move(finished);
    return;
  }
  // Pivots make the flow better step by step, but the potential is worth something at the end only.
  answer.outcome = finished.outcome;
  answer.flow = std::move(finished.flow);
  memory.potential = answer.potential;
}

}  // namespace

const char* refuses_cost_scaling(const Network& network, std::span<const double>) {
  constexpr int64_t kMostEdges = std::numeric_limits<int32_t>::max();
  if (network.num_edges() > kMostEdges) return "cost scaling takes at most 2^31 - 1 edges";
  if (!network.directed || network.num_nodes < 2) return nullptr;
  return longest_way(network, arcs_of(network)) > 0 ? nullptr : "cost scaling needs ways between all nodes";
}

Answer solve_cost_scaling(const Network& network, const Arcs& arcs, std::span<const double> supply,
                          const Limits& limits, Memory& memory) {
  Answer answer;
  if (network.num_nodes < 2) {
    answer.potential.assign(network.num_nodes, 0.0);
    return answer;
  }
  const int32_t way = longest_way(network, arcs);
  const Scaled scaled = scale(network, supply, way);
  const double potential_unit = scaled.integers.cost_unit / static_cast<double>(scaled.factor);
  Residual net(network, arcs, scaled.integers, scaled.factor);
  CostScaling scaling(net, limits);

  std::vector<int64_t> warm = remembered(memory, network.num_nodes, potential_unit);
  const int64_t parts = warm.empty() ? kFirstEpsilon : kWarmEpsilon;
  if (warm.empty()) {
    scaling.start_cold(scaled.largest * way);
  } else {
    scaling.start_warm(std::move(warm));
  }
  const auto epsilon = static_cast<uint64_t>(std::max<int64_t>(1, scaled.largest / parts));
  answer.outcome = scaling.run(static_cast<int64_t>(std::bit_floor(epsilon)));

  answer.flow = in_units(scaling.flow(), scaled.integers.supply_unit);
  std::vector<int64_t> potential = scaling.potential();
  const int64_t zero = potential[network.ground == kNoNode ? 0 : network.ground];
  for (int64_t& value : potential) value -= zero;
  answer.potential = in_units(potential, potential_unit);
  memory.potential = answer.potential;
  if (scaling.leaves_to_pivots()) finish_by_pivots(network, arcs, supply, limits, memory, answer);
  return answer;
}

}  // namespace qw::transport
