// Cost scaling by partial augmentations and relabels (Goldberg and Tarjan 1990; Goldberg 2008; Kovács 2015), for networks
// without capacities.
//
// A phase begins with an exactly feasible potential and with flow only where it is tight. Nodes with excess send along arcs
// that pay, at most kPathLength of them at a time, and raise their potential by a little more than what is missing when none
// does. The phase ends with a flow that meets the supplies and is epsilon-optimal. Cycles of flow are then cancelled, the
// potential is made tight on the forest that is left, which often proves the optimum, and if not it is lowered until it is
// feasible: that gives the true gap, and the beginning of the next phase with a smaller epsilon.
//
// At the beginning of a phase no arc pays, and raising u makes no arc towards u pay: so arcs that pay never form a cycle,
// and the usual proof of termination holds.
#include <bit>
#include <cmath>
#include <limits>

#include "transport/certificate.h"
#include "transport/solvers/flow_forest.h"
#include "transport/solvers/lowering.h"
#include "transport/solvers/residual.h"
#include "transport/solvers/solvers.h"
#include "transport/solvers/watch.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
namespace qw::transport {
namespace {
long env(const char*n,long d){const char*v=getenv(n);return v?atol(v):d;}
const long FIRST=env("FIRST",64),SHRINK=env("SHRINK",16),WARM=env("WARM",256),UPD=env("UPD",100),FOREST=env("FOREST",1),SWEEPS=env("SWEEPS",10),PROOF=env("PROOF",10),DIST=env("DIST",1),EASY=env("EASY",6),FEW=env("FEW",100);
struct T{static double n(){timespec t;clock_gettime(CLOCK_THREAD_CPUTIME_ID,&t);return t.tv_sec+1e-9*t.tv_nsec;} double t=n(); double operator()(){return n()-t;}};

constexpr int kPathLength = 4;
constexpr int32_t kMostRanks = 1 << 14;
constexpr int64_t kBuried = int64_t{1} << 60;  // the potential of nodes from which no demand can be reached
constexpr int kPotentialBits = 59;
constexpr int kMostCostBits = 50;                   // more would be lost in the doubles of the answer
constexpr int64_t kMostExcess = int64_t{1} << 57;   // of all nodes together
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
  CostScaling(Residual& net, const Limits& limits, bool may_be_infeasible)
      : net_(net),
        limits_(limits),
        watch_(limits.deadline),
        forest_(net),
        active_(net.num_nodes()),
        current_(net.num_nodes()),
        ranks_(net.num_nodes()),
        check_ways_(may_be_infeasible),
        flow_(net.flow()),
        potential_(net.num_nodes(), 0) {}

  // Begins with the nearest demand of every node, or with a potential that is close to an optimal one.
  void start_cold(int64_t highest);
  void start_warm(std::vector<int64_t> potential);
  Outcome run(int64_t first_epsilon);

  const std::vector<int64_t>& flow() const { return flow_; }
  const std::vector<int64_t>& potential() const { return potential_; }
  int64_t unrouted() const { return unrouted_; }

 private:
  void start_phase();
  bool run_phase(int64_t epsilon);
  bool augment_from(int32_t start);
  uint32_t find_paying_arc(int32_t node);
  void send_along_path(int32_t start, int length);
  void raise_by_distance();
  void bury_the_lost();
  bool lower_to_feasible();
  bool prove_optimal(bool last);
  bool gap_is_met() const;

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
  bool check_ways_;
  int64_t unrouted_ = 0;
  std::vector<int64_t> flow_;       // of the last phase that was finished
  std::vector<int64_t> potential_;  // feasible
  int updates_ = 0;
  int64_t num_active_ = 0;
};

bool CostScaling::lower_to_feasible() {
  const bool directed = net_.directed();
  const auto cost = [&](uint32_t at) {
    const int64_t price = net_.price_back(at);
    return price >= 0 ? price : directed ? kNoWay : -price;
  };
  return lower_from_all(net_, active_, SWEEPS * 2 * net_.num_edges(), watch_, cost) ||
         (!watch_.passed() && lower_in_order(net_, watch_, cost));
}

void CostScaling::start_cold(int64_t highest) {
  if (DIST) {
  for (int32_t v = 0; v < net_.num_nodes(); ++v) net_.potential[v] = net_.excess[v] < 0 ? 0 : highest;
  }
  if (lower_to_feasible() ) potential_ = net_.potential; else net_.potential = potential_;
}

void CostScaling::start_warm(std::vector<int64_t> potential) {
  net_.potential = std::move(potential);
  if (lower_to_feasible()) {potential_ = net_.potential;} else {net_.potential = potential_;}
}

void CostScaling::start_phase() {
  int64_t lowest = net_.potential[0];
  for (const int64_t value : net_.potential) lowest = std::min(lowest, value);
  for (int64_t& value : net_.potential) value -= lowest;
  net_.drop_slack_flow();
  int64_t excess = 0;
  for (const int64_t value : net_.excess) excess = std::min(kMostExcess, excess + std::max<int64_t>(value, 0));
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
  const int64_t update_interval = net_.num_nodes()*UPD/100;
  relabels_ = 0;
  int64_t next_update = 0;
  active_.clear();
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    current_[v] = net_.begin(v);
    if (net_.excess[v] > 0) active_.push(v);
  }
  while (!active_.empty()) {
    if (relabels_ >= next_update) {
      if (check_ways_) bury_the_lost();
      raise_by_distance();++updates_;
      next_update = relabels_ + std::min(update_interval, FEW * num_active_ + 50);
    }
    const int32_t node = active_.front();
    if (net_.excess[node] <= 0) {
      active_.pop();
    } else if (!augment_from(node)) {
      return false;
    }
  }
  check_ways_ = false;
  return true;
}

// Raises every node by its distance to the nearest demand, in steps of epsilon, but no further than the furthest excess.
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
  num_active_ = to_reach;
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

// Nodes with excess from which no demand can be reached any more are a proof that not all can be routed. No residual arc leaves
// them, so it is enough to see that nothing is sent to them either.
void CostScaling::bury_the_lost() {
  std::vector<int32_t> reached;
  std::vector<char> is_reached(net_.num_nodes(), 0);
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    if (net_.excess[v] >= 0) continue;
    reached.push_back(v);
    is_reached[v] = 1;
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (uint32_t at = net_.begin(reached[i]); at < net_.end(reached[i]); ++at) {
      const int32_t other = net_.arc(at).end;
      if (is_reached[other] || net_.price_back(at) == kNoWay) continue;
      is_reached[other] = 1;
      reached.push_back(other);
    }
  }
  int64_t lost = 0;
  for (int32_t v = 0; v < net_.num_nodes(); ++v) lost += is_reached[v] ? 0 : net_.excess[v];
  if (lost == 0) return;
  unrouted_ += lost;
  for (int32_t v = 0; v < net_.num_nodes(); ++v) {
    if (is_reached[v]) continue;
    net_.excess[v] = 0;
    net_.potential[v] = kBuried;
  }
}

// Whether the flow is optimal, with the potential that shows it; if not, the potential is as good as tight.
bool CostScaling::prove_optimal(bool last) {
  const auto price = [&](uint32_t at) { return net_.price_back(at); };
  if (EASY) {
  const std::vector<int64_t> raw = net_.potential;
  if (lower_from_all(net_, active_, EASY * net_.num_edges(), watch_, price)) return true;
  net_.potential = raw;
  }
  const bool is_forest = forest_.cancel_cycles(watch_);
  if (!is_forest || !forest_.tighten()) return false;
  const std::vector<int64_t> tight = net_.potential;
  // A single tree has one potential only; several can still be shifted against each other.
  const int64_t sweeps = forest_.num_trees() == 1 ? 0 : last ? 1000 : PROOF;
  if (lower_from_all(net_, active_, sweeps * 2 * net_.num_edges(), watch_, price)) return true;
  net_.potential = tight;
  return false;
}

bool CostScaling::gap_is_met() const {
  return static_cast<double>(net_.gap()) <= limits_.gap * static_cast<double>(net_.flow_cost());
}

Outcome CostScaling::run(int64_t epsilon) {
  for (bool first = true;; first = false, epsilon = std::max<int64_t>(1, epsilon / SHRINK)) {
    start_phase();
    T t; updates_ = 0;
    const bool finished = run_phase(epsilon);
    double s1=t(); T t2; double s2,s3; bool opt=0;
    if (finished || first) flow_ = net_.flow();
    if (!finished) return Outcome::kStopped;
    if (unrouted_ > 0) return Outcome::kInfeasible;
    const bool optimal = opt = prove_optimal(epsilon == 1);
    s2=t2();
    flow_ = net_.flow();
    if (!optimal && !lower_to_feasible()) return Outcome::kStopped;
    s3=t2()-s2;
    potential_ = net_.potential;
    if (getenv("V")) fprintf(stderr, "eps %.3g: %.3f s relabels %ld updates %d; trees %d forest %.3f s feasible %.3f s optimal %d gap %.3g\n", (double)epsilon, s1, relabels_, updates_, forest_.num_trees(), s2,s3, opt, (double)net_.gap()/(double)net_.flow_cost());
    if (optimal || epsilon == 1 || gap_is_met()) return Outcome::kSolved;
  }
}

// How many edges a way between two nodes can have at most; 0: there is not always one.
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

// Every node with excess has a way to a demand, whose potential stays, and over each of its edges the potential falls by at
// most cost + epsilon: so within a phase potentials stay below twice longest way * (largest cost + epsilon). Where ways use residual
// arcs only, N takes the place of the longest way, and what the phases add up to is less than eight times the first.
Scaled scale(const Network& network, std::span<const double> supply, int32_t way) {
  const int node_bits = std::bit_width(static_cast<uint32_t>(network.num_nodes));
  const int way_bits = way > 0 ? std::bit_width(static_cast<uint32_t>(way)) : 3 + node_bits;
  const int bits = kPotentialBits - 3 - way_bits;
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
  if (memory.potential.size() != static_cast<size_t>(num_nodes)) return result;
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

}  // namespace

const char* refuses_cost_scaling(const Network& network, std::span<const double>) {
  constexpr int64_t kMostEdges = std::numeric_limits<int32_t>::max();
  return network.num_edges() > kMostEdges ? "cost scaling takes at most 2^31 - 1 edges" : nullptr;
}

Answer solve_cost_scaling(const Network& network, const Arcs& arcs, std::span<const double> supply,
                          const Limits& limits, Memory& memory) {
  Answer answer;
  if (network.num_nodes == 0) return answer;
  const int32_t way = longest_way(network, arcs);
  const Scaled scaled = scale(network, supply, way);
  const double potential_unit = scaled.integers.cost_unit / static_cast<double>(scaled.factor);
  Residual net(network, arcs, scaled.integers, scaled.factor);
  CostScaling scaling(net, limits, way == 0);

  int64_t epsilon = std::max<int64_t>(1, scaled.largest / FIRST);
  std::vector<int64_t> warm = remembered(memory, network.num_nodes, potential_unit);
  if (warm.empty()) {
    scaling.start_cold(scaled.largest * (way > 0 ? way : network.num_nodes));
  } else {
    scaling.start_warm(std::move(warm));
    epsilon = std::max<int64_t>(1, epsilon / WARM);
  }
  answer.outcome = scaling.run(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(epsilon))));

  answer.flow = in_units(scaling.flow(), scaled.integers.supply_unit);
  std::vector<int64_t> potential = scaling.potential();
  const int64_t zero = potential[network.ground == kNoNode ? 0 : network.ground];
  for (int64_t& value : potential) value -= zero;
  answer.potential = in_units(potential, potential_unit);
  answer.unrouted = static_cast<double>(scaling.unrouted()) * scaled.integers.supply_unit;
  memory.potential = answer.potential;
  return answer;
}

}  // namespace qw::transport
