#include "transport/solvers/primal_dual_iterate.h"

#include <atomic>
#include <limits>
#include <utility>

namespace qw::transport {
namespace {

constexpr int64_t kAhead = 32;  // arcs whose far potential is fetched early
constexpr int kMostSweeps = 64;
constexpr double kWeightMemory = 0.3;  // of the old weight of flows against potentials, at a restart
constexpr double kIdleFlow = 0.03;   // edges without flow step as if they carried this part of a mean supply
constexpr double kLeastCost = 0.1;   // cheaper edges step as if they cost this part of the mean
constexpr double kHopLength = 0.06;  // of the repair's tree, in mean costs: shallow against cheap
constexpr double kSteadyFlow = 10;   // flows of this many mean residuals can be corrected in both directions

double power_of_two_near(double value) { return value > 0 ? std::exp2(std::round(std::log2(value))) : 1.0; }

// Means without overflow.
double mean_magnitude(std::span<const double> values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::fabs(value));
  if (largest == 0) return 0;
  double sum = 0;
  for (double value : values) sum += std::fabs(value) / largest;
  return sum / static_cast<double>(values.size()) * largest;
}

}  // namespace

template <class Real>
Iterate<Real>::Iterate(const Network& network, const Arcs& arcs, std::span<const double> supply,
                       const Deadline& deadline)
    : network_(network), arcs_(arcs), deadline_(deadline) {
  cost_unit_ = power_of_two_near(mean_magnitude(network.costs));
  supply_unit_ = power_of_two_near(mean_magnitude(supply));
  const int64_t count = static_cast<int64_t>(arcs.arcs.size());
  for (auto* values : {&cost_, &step_, &flow_, &flow_anchor_}) values->resize(count);
  for (auto* values : {&supply_, &node_step_, &potential_, &next_, &potential_anchor_}) {
    values->assign(network.num_nodes, 0);
  }
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    supply_[v] = v == network.ground ? Real{0} : static_cast<Real>(supply[v] / supply_unit_);
  }
  for_rows([&](int32_t v) {
    for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) {
      cost_[k] = signed_cost(arcs_.arcs[k]);
      flow_[k] = flow_anchor_[k] = 0;
    }
  });
}

template <class Real>
void Iterate<Real>::start_at(std::span<const double> potential) {
  const double shift = network_.ground == kNoNode ? 0 : potential[network_.ground];
  for (int32_t v = 0; v < network_.num_nodes; ++v) {
    const double value = (potential[v] - shift) / cost_unit_;
    potential_[v] = potential_anchor_[v] = std::isfinite(value) ? static_cast<Real>(value) : Real{0};
  }
}

template <class Real>
template <bool kDirected, bool kMeasure>
void Iterate<Real>::pass_node(int32_t v, const Blend& blend, Sums& sum) {
  const Real from_moved = static_cast<Real>(blend.moved), from_change = static_cast<Real>(blend.change);
  const Real from_anchor = static_cast<Real>(blend.anchor);
  const Real here = potential_[v];
  Real ahead = 0, changed = 0, length = 0;
  const int64_t begin = arcs_.offsets[v], count = arcs_.offsets[v + 1] - begin;
  const int32_t* __restrict ends = arcs_.ends.data() + begin;
  const Real* __restrict potential = potential_.data();
  const Real* __restrict steps = step_.data() + begin;
  const Real* __restrict costs = cost_.data() + begin;
  const Real* __restrict anchor = flow_anchor_.data() + begin;
  Real* __restrict flow = flow_.data() + begin;
  const int64_t last = static_cast<int64_t>(arcs_.ends.size()) - 1 - begin;
  for (int64_t k = 0; k < count; ++k) {
    __builtin_prefetch(potential + ends[std::min(k + kAhead, last)]);
    const Real before = flow[k];
    const Real pushed = before + steps[k] * (here - potential[ends[k]]);
    const Real limit = steps[k] * costs[k];
    // max(0, x) as (x + |x|) / 2, which is exact: a branch here would be guessed wrong half of the time.
    Real moved;
    if constexpr (kDirected) {
      const Real left = pushed - limit;
      moved = (left + std::copysign(left, limit)) / 2;
    } else {
      const Real left = std::fabs(pushed) - limit;
      moved = std::copysign((left + std::fabs(left)) / 2, pushed);
    }
    const Real change = moved - before;
    ahead += moved + change;
    if constexpr (kMeasure) {
      changed += change;
      length += change * change / steps[k];
    }
    flow[k] = from_moved * moved + from_change * change + from_anchor * anchor[k];
  }
  const Real change = node_step_[v] * (supply_[v] - ahead);
  next_[v] = from_moved * (here + change) + from_change * change + from_anchor * potential_anchor_[v];
  if constexpr (kMeasure) {
    sum.flow += length / 2;
    sum.cross += static_cast<double>(change) * changed;
    if (node_step_[v] > 0) sum.potential += static_cast<double>(change) * change / node_step_[v];
  }
}

template <class Real>
template <bool kDirected, bool kMeasure>
bool Iterate<Real>::pass(const Blend& blend, Sums* length) {
  std::atomic<bool> late{false};
  const Sums total = sum_rows([&](int32_t v, Sums& sum) {
    if (v % kBlockNodes == 0 && deadline_.passed()) late.store(true, std::memory_order_relaxed);
    if (late.load(std::memory_order_relaxed)) return;
    pass_node<kDirected, kMeasure>(v, blend, sum);
  });
  if (late) return false;
  potential_.swap(next_);
  if constexpr (kMeasure) *length = total;
  return true;
}

template <class Real>
void Iterate<Real>::restart() {
  const Sums way = sum_rows([&](int32_t v, Sums& sum) {
    double steps = 0, flow_way = 0;
    for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) {
      const double step = std::sqrt((std::fabs(flow_[k]) + kIdleFlow) / (std::fabs(cost_[k]) + kLeastCost));
      const double difference = flow_[k] - flow_anchor_[k];
      flow_way += difference * difference / step;
      steps += step;
      step_[k] = static_cast<Real>(step);
      flow_anchor_[k] = flow_[k];
    }
    const double difference = potential_[v] - potential_anchor_[v];
    sum.flow += flow_way / 2;
    sum.potential += difference * difference * 2 * steps;
    potential_anchor_[v] = potential_[v];
    node_step_[v] = static_cast<Real>(steps > 0 && v != network_.ground ? 1 / (2 * steps) : 0);
  });
  if (way.flow > 0 && way.potential > 0) {
    const double balanced = std::sqrt(way.flow / way.potential);
    weight_ = std::clamp(std::pow(balanced, 1 - kWeightMemory) * std::pow(weight_, kWeightMemory), 1e-9, 1e9);
  }
  for_rows([&](int32_t v) {
    node_step_[v] = static_cast<Real>(node_step_[v] / weight_);
    for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k)
      step_[k] = static_cast<Real>(step_[k] * weight_);
  });
}

template <class Real>
std::vector<double> Iterate<Real>::flow() const {
  std::vector<double> result(network_.num_edges());
  for_rows([&](int32_t v) {
    for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) {
      if (arcs_.arcs[k] % 2 == 0) result[arcs_.arcs[k] / 2] = flow_[k] * supply_unit_;
    }
  });
  return result;
}

template <class Real>
std::vector<double> Iterate<Real>::potential() const {
  std::vector<double> result(potential_.begin(), potential_.end());
  for (double& value : result) value *= cost_unit_;
  return result;
}

template <class Real>
std::vector<double> Iterate<Real>::feasible_potential() const {
  std::vector<double> here(potential_.begin(), potential_.end()), next(here.size());
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    std::atomic<bool> lowered{false};
    for_rows([&](int32_t v) {
      double least = here[v];
      for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) {
        if (may_leave(k)) least = std::min(least, here[arcs_.ends[k]] + std::fabs(cost_[k]));
      }
      next[v] = least;
      if (least < here[v]) lowered.store(true, std::memory_order_relaxed);
    });
    if (!lowered || deadline_.passed()) break;
    here.swap(next);
  }
  for (double& value : here) value *= cost_unit_;
  return here;
}

// What a hop costs in the repair, in whole units: little where the potentials already pay for the edge and,
// when flow has to be corrected in either direction, where enough runs.
template <class Real>
int Iterate<Real>::tree_length(int32_t v, int64_t k, bool towards_root, double steady) const {
  constexpr double kLongest = 1000;
  const double fall = static_cast<double>(potential_[v]) - potential_[arcs_.ends[k]];
  double missing = std::fabs(cost_[k]);
  if (network_.directed) {
    missing -= towards_root ? -fall : fall;
  } else if (std::fabs(flow_[k]) >= steady) {
    missing -= std::fabs(fall);
  }
  return 1 + static_cast<int>(std::clamp(missing / kHopLength, 0.0, kLongest));
}

// Dial's algorithm: shortest ways with small whole lengths.
template <class Real>
Routes::Tree Iterate<Real>::cheap_tree(int32_t root, bool towards_root, double steady) const {
  constexpr size_t kBuckets = 1024;
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  std::vector<std::vector<int32_t>> buckets(kBuckets);
  std::vector<int64_t> distance(network_.num_nodes, kFar);
  Routes::Tree tree;
  tree.arcs.assign(network_.num_nodes, -1);
  tree.order.reserve(network_.num_nodes);
  distance[root] = 0;
  buckets[0].push_back(root);
  int64_t waiting = 1;
  for (int64_t now = 0; waiting > 0; ++now) {
    std::vector<int32_t> bucket = std::exchange(buckets[now % kBuckets], {});
    waiting -= static_cast<int64_t>(bucket.size());
    for (const int32_t v : bucket) {
      if (distance[v] != now) continue;
      tree.order.push_back(v);
      for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) {
        const int32_t child = arcs_.ends[k];
        if (distance[child] <= now || (network_.directed && may_leave(k) == towards_root)) continue;
        const int64_t reached = now + tree_length(v, k, towards_root, steady);
        if (reached >= distance[child]) continue;
        distance[child] = reached;
        tree.arcs[child] = arcs_.arcs[k] ^ 1;
        buckets[reached % kBuckets].push_back(child);
        ++waiting;
      }
    }
  }
  return tree;
}

template <class Real>
Routes Iterate<Real>::repair_routes() const {
  const Sums undelivered = sum_rows([&](int32_t v, Sums& sum) {
    double left = supply_[v];
    for (int64_t k = arcs_.offsets[v]; k < arcs_.offsets[v + 1]; ++k) left -= flow_[k];
    if (v != network_.ground) sum.flow += std::fabs(left);
  });
  const double steady = kSteadyFlow * undelivered.flow / network_.num_nodes;
  Routes routes;
  routes.root = network_.ground == kNoNode ? 0 : network_.ground;
  routes.to_root = cheap_tree(routes.root, true, steady);
  if (network_.directed) routes.from_root = cheap_tree(routes.root, false, steady);
  return routes;
}

template <class Real>
bool Iterate<Real>::advance(const Blend& blend) {
  return network_.directed ? pass<true, false>(blend, nullptr) : pass<false, false>(blend, nullptr);
}

template <class Real>
bool Iterate<Real>::advance(const Blend& blend, Sums& length) {
  return network_.directed ? pass<true, true>(blend, &length) : pass<false, true>(blend, &length);
}

template class Iterate<float>;
template class Iterate<double>;

}  // namespace qw::transport
