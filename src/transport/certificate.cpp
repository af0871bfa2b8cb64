#include "transport/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "transport/compensated.h"

namespace qw::transport {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // relative residual that counts as rounding
constexpr double kNotWorthIt =
    1e-12;  // relative leftover that is not worth a way over a tree: it stays a residual

bool is_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool may_flow(double amount, bool directed) { return std::isfinite(amount) && (amount >= 0 || !directed); }

// Whether flow can run from the node at whose side `arc` is seen to its other end.
bool leads_away(int64_t arc, bool directed) { return !directed || arc % 2 == 0; }

Routes::Tree grow_tree(const Network& network, const Arcs& arcs, int32_t root, bool towards_root) {
  Routes::Tree tree;
  tree.arcs.assign(network.num_nodes, -1);
  tree.order.reserve(network.num_nodes);
  tree.order.push_back(root);
  for (size_t i = 0; i < tree.order.size(); ++i) {
    const int32_t node = tree.order[i];
    for (int64_t k = arcs.offsets[node]; k < arcs.offsets[node + 1]; ++k) {
      const int32_t child = arcs.ends[k];
      const int64_t arc_of_child = arcs.arcs[k] ^ 1;
      if (child == root || tree.arcs[child] >= 0) continue;
      if (!leads_away(towards_root ? arc_of_child : arcs.arcs[k], network.directed)) continue;
      tree.arcs[child] = arc_of_child;
      tree.order.push_back(child);
    }
  }
  return tree;
}

// Moves what `leftover` holds over the tree to the root: positive amounts flow towards it, negative ones away
// from it. `carry(edge, amount)` is told what each edge carries.
template <class Carry>
void route(const Network& network, const Routes::Tree& tree, std::vector<double>& leftover, Carry&& carry) {
  for (size_t i = tree.order.size(); i-- > 1;) {
    const int32_t node = tree.order[i];
    const double amount = leftover[node];
    if (amount == 0) continue;
    const int64_t arc = tree.arcs[node];
    const bool from_source = arc % 2 == 0;
    carry(arc / 2, from_source ? amount : -amount);
    leftover[from_source ? network.targets[arc / 2] : network.sources[arc / 2]] += amount;
    leftover[node] = 0;
  }
}

// The same where edges may lead one way only. Returns what has no way to the root, or from it.
template <class Carry>
double route_both_ways(const Network& network, const Routes& routes, std::vector<double> leftover,
                       Carry&& carry) {
  std::vector<double> wanted(network.directed ? network.num_nodes : 0, 0.0);
  for (int32_t v = 0; v < static_cast<int32_t>(wanted.size()); ++v) {
    if (leftover[v] < 0) std::swap(leftover[v], wanted[v]);
  }
  route(network, routes.to_root, leftover, carry);
  if (network.directed) route(network, routes.from_root, wanted, carry);
  double stuck = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v != routes.root) stuck += std::fabs(leftover[v]) + (network.directed ? std::fabs(wanted[v]) : 0);
  }
  return stuck;
}

// What the nodes still have to send: supply - (out - in), 0 at the ground.
std::vector<double> leftover_of(const Network& network, std::span<const double> supply,
                                std::span<const double> lost, std::span<const double> flow) {
  std::vector<double> leftover = divergence(network, flow);
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    leftover[v] = v == network.ground ? 0 : supply[v] - leftover[v] + (lost.empty() ? 0 : lost[v]);
  }
  return leftover;
}

double sum_of_supplies(const Network& network, std::span<const double> supply) {
  double sum = 0;
  for (int32_t v = 0; v < network.num_nodes; ++v) sum += v == network.ground ? 0 : std::fabs(supply[v]);
  return sum;
}

void deliver(const Network& network, const Routes& routes, std::span<const double> supply,
             std::span<const double> lost, std::vector<double>& flow) {
  std::vector<double> leftover = leftover_of(network, supply, lost, flow);
  double left = 0;
  for (const double amount : leftover) left += std::fabs(amount);
  if (left <= kNotWorthIt * sum_of_supplies(network, supply)) return;
  route_both_ways(network, routes, std::move(leftover),
                  [&](int64_t edge, double amount) { flow[edge] += amount; });
}

// No simple way costs more.
double cost_of_longest_way(const Network& network) {
  const double largest =
      network.costs.empty() ? 0 : *std::max_element(network.costs.begin(), network.costs.end());
  return largest * network.num_nodes;
}

// What moving the leftover as well would cost, at most.
double cost_of_leftover(const Network& network, const Routes& routes, const std::vector<double>& leftover) {
  if (std::ranges::all_of(leftover, [](double amount) { return amount == 0; })) return 0;
  double cost = 0;
  const double stuck = route_both_ways(network, routes, leftover, [&](int64_t edge, double amount) {
    cost += network.costs[edge] * std::fabs(amount);
  });
  return stuck == 0 ? cost : cost + stuck * cost_of_longest_way(network);
}

double largest_of(std::span<const double> amounts) {
  double largest = 0;
  for (const double amount : amounts) largest = std::max(largest, std::fabs(amount));
  return largest;
}

double largest_violation(const Network& network, std::span<const double> potential) {
  double largest = 0;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    const double difference = potential[network.sources[e]] - potential[network.targets[e]];
    largest = std::max(largest, (network.directed ? difference : std::fabs(difference)) - network.costs[e]);
  }
  return largest;
}

// The largest factor in [0, 1] by which the potential becomes feasible.
double feasible_factor(const Network& network, std::span<const double> potential) {
  double factor = 1;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    const double difference = potential[network.sources[e]] - potential[network.targets[e]];
    const double used = network.directed ? difference : std::fabs(difference);
    if (used > network.costs[e]) factor = std::min(factor, network.costs[e] / used);
  }
  return factor;
}

// Lowers the potential to the largest feasible one below it: p(u) <= p(v) + cost(u -> v), smallest first as
// in Dijkstra's algorithm, starting from the nodes that press a neighbour down.
void clip(const Network& network, const Arcs& arcs, std::vector<double>& potential) {
  using Entry = std::pair<double, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto press = [&](int32_t node, auto&& found) {
    for (int64_t k = arcs.offsets[node]; k < arcs.offsets[node + 1]; ++k) {
      if (!leads_away(arcs.arcs[k] ^ 1, network.directed)) continue;
      const double bound = potential[node] + network.costs[arcs.arcs[k] / 2];
      if (bound < potential[arcs.ends[k]]) found(arcs.ends[k], bound);
    }
  };
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    bool presses = false;
    press(v, [&](int32_t, double) { presses = true; });
    if (presses) open.emplace(potential[v], v);
  }
  while (!open.empty()) {
    const auto [value, node] = open.top();
    open.pop();
    if (value > potential[node]) continue;
    press(node, [&](int32_t neighbour, double bound) {
      potential[neighbour] = bound;
      open.emplace(bound, neighbour);
    });
  }
}

// Only differences matter: the ground stands at 0, and without one the mean does.
void shift_to_zero(const Network& network, std::vector<double>& potential) {
  double shift = 0;
  if (network.ground != kNoNode) {
    shift = potential[network.ground];
  } else {
    for (const double value : potential) shift += value / network.num_nodes;
  }
  if (shift == 0) return;
  for (double& value : potential) value -= shift;
}

double value_of(const Network& network, std::span<const double> supply, std::span<const double> lost,
                std::span<const double> potential) {
  Sum sum;
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v == network.ground) continue;
    sum.add_product(potential[v], supply[v]);
    if (!lost.empty()) sum.add(potential[v] * lost[v]);
  }
  return sum.value();
}

void make_feasible(const Network& network, const Arcs& arcs, std::span<const double> supply,
                   std::span<const double> lost, const Deadline& deadline, std::vector<double>& potential) {
  shift_to_zero(network, potential);
  const double factor = feasible_factor(network, potential);
  if (factor == 1) return;
  std::vector<double> clipped;
  if (factor < 1 - 1e-12 && !deadline.passed()) {
    clipped = potential;
    clip(network, arcs, clipped);
    shift_to_zero(network, clipped);
  }
  for (double& value : potential) value *= factor;
  if (!clipped.empty() &&
      value_of(network, supply, lost, clipped) > value_of(network, supply, lost, potential)) {
    potential = std::move(clipped);
  }
}

}  // namespace

Routes routes_of(const Network& network, const Arcs& arcs) {
  Routes routes;
  routes.root = network.ground == kNoNode ? 0 : network.ground;
  if (network.num_nodes == 0) return routes;
  routes.to_root = grow_tree(network, arcs, routes.root, true);
  if (network.directed) routes.from_root = grow_tree(network, arcs, routes.root, false);
  return routes;
}

Certified certify(const Network& network, const Arcs& arcs, const Routes& routes,
                  std::span<const double> supply, std::vector<double> flow, std::vector<double> potential,
                  const Deadline& deadline, double allowed_residual, std::span<const double> lost) {
  Certified result;
  for (double& value : flow) value = may_flow(value, network.directed) ? value : 0;
  for (double& value : potential) value = std::isfinite(value) ? value : 0;
  deliver(network, routes, supply, lost, flow);
  if (!is_finite(flow)) {  // numbers so large that they overflowed on the way
    flow.assign(network.num_edges(), 0.0);
    deliver(network, routes, supply, lost, flow);
  }
  result.flow = std::move(flow);
  const std::vector<double> leftover = leftover_of(network, supply, lost, result.flow);
  result.primal_residual = largest_of(leftover);

  make_feasible(network, arcs, supply, lost, deadline, potential);
  result.potential = std::move(potential);
  result.lower = value_of(network, supply, lost, result.potential);
  if (!(result.lower >= 0 && is_finite(result.potential))) {  // then no potential at all is worth more
    result.potential.assign(network.num_nodes, 0.0);
    result.lower = 0;
  }
  result.dual_violation = largest_violation(network, result.potential);

  Sum cost;
  for (int64_t e = 0; e < network.num_edges(); ++e) cost.add(network.costs[e] * std::fabs(result.flow[e]));
  cost.add(cost_of_leftover(network, routes, leftover));
  const double rounding = kRounding * sum_of_supplies(network, supply);
  result.upper = result.primal_residual <= std::max(rounding, allowed_residual) ? cost.value() : kInfinity;
  result.lower = std::min(result.lower, result.upper);
  return result;
}

namespace {

Wide magnitude(Wide value) { return value < 0 ? -value : value; }

// The flow meets the supplies, the potential is feasible, and flow runs only where it is tight: then both are
// optimal.
bool is_optimal(const Network& network, const WideIntegers& integers, std::span<const Wide> flow,
                std::span<const Wide> potential) {
  std::vector<Wide> left = integers.supplies;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    left[network.sources[e]] -= flow[e];
    left[network.targets[e]] += flow[e];
    const Wide down = potential[network.sources[e]] - potential[network.targets[e]];
    if ((network.directed ? down : magnitude(down)) > integers.costs[e]) return false;
    if (flow[e] > 0 && down != integers.costs[e]) return false;
    if (flow[e] < 0 && (network.directed || down != -integers.costs[e])) return false;
  }
  return std::ranges::all_of(left, [](Wide amount) { return amount == 0; });
}

}  // namespace

std::optional<Certified> certify_optimum(const Network& network, const Supply& supply,
                                         const WideIntegers& integers, std::span<const Wide> flow,
                                         std::span<const Wide> potential) {
  if (!is_optimal(network, integers, flow, potential)) return std::nullopt;
  Certified result;
  Sum upper, lower;
  for (int64_t e = 0; e < network.num_edges(); ++e) {
    result.flow.push_back(static_cast<double>(flow[e]) * integers.supply_unit);
    const double amount = std::fabs(result.flow[e]);
    upper.add(network.costs[e] * amount);
    lower.add(static_cast<double>(integers.costs[e]) * integers.cost_unit * amount);
  }
  const Wide zero = potential[network.ground == kNoNode ? 0 : network.ground];
  for (const Wide value : potential)
    result.potential.push_back(static_cast<double>(value - zero) * integers.cost_unit);
  shift_to_zero(network, result.potential);
  const double rounding =
      integers.supply_error == 0 ? 0 : integers.supply_error * cost_of_longest_way(network);
  result.upper = upper.value() + rounding;
  result.lower = std::clamp(lower.value() - rounding, 0.0, result.upper);
  if (!std::isfinite(result.upper) || !is_finite(result.flow) || !is_finite(result.potential))
    return std::nullopt;
  result.primal_residual = largest_of(leftover_of(network, supply.values, supply.lost, result.flow));
  result.dual_violation = largest_violation(network, result.potential);
  return result;
}

}  // namespace qw::transport
