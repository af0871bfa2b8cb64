// Random transport problems for the tests of the solvers, the same on every platform.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "qw/core/random.h"
#include "transport/network.h"

namespace qw::transport {

struct Problem {
  Network network;
  std::vector<double> supply;
};

enum class Costs { kUnit, kUniform, kFewIntegers, kZero, kWide };  // 1; [0.05, 1.05); 0 .. 3; 0; 1e-6 .. 1e6
enum class Supplies { kUniform, kFewIntegers, kSparse, kZero };    // [-1, 1); -2 .. 2; one node in ten; 0

struct Shape {
  int32_t nodes = 10;  // before contraction
  int64_t edges = 20;  // about; at least a spanning tree
  Costs costs = Costs::kUniform;
  Supplies supplies = Supplies::kUniform;
  bool directed = false;
  bool one_way =
      false;  // directed: the spanning tree runs one way only, so that the problem may be infeasible
  double contracted =
      0;  // share of the nodes that become the ground; > 0: there is a ground, somewhere among the nodes
};

namespace detail {

class Draw {
 public:
  explicit Draw(uint64_t seed) : stream_(seed, 0x6e657477) {}
  double uniform() { return stream_.uniform(counter_++); }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(stream_.below(counter_++, static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
  uint64_t counter_ = 0;
};

inline double draw_cost(Costs costs, Draw& draw) {
  switch (costs) {
    case Costs::kUnit:
      return 1;
    case Costs::kUniform:
      return 0.05 + draw.uniform();
    case Costs::kFewIntegers:
      return static_cast<double>(draw.below(4));
    case Costs::kZero:
      return 0;
    case Costs::kWide:
      break;
  }
  double cost = 1e-6;
  for (int64_t decade = draw.below(13); decade > 0; --decade) cost *= 10;
  return cost * (0.5 + draw.uniform());
}

inline double draw_supply(Supplies supplies, Draw& draw) {
  switch (supplies) {
    case Supplies::kUniform:
      return 2 * draw.uniform() - 1;
    case Supplies::kFewIntegers:
      return static_cast<double>(draw.below(5) - 2);
    case Supplies::kSparse:
      return draw.below(10) == 0 ? 2 * draw.uniform() - 1 : 0;
    case Supplies::kZero:
      break;
  }
  return 0;
}

}  // namespace detail

// Supplies that sum to zero, but for rounding, over a network's nodes.
inline std::vector<double> random_supply(const Network& network, Supplies supplies, uint64_t seed) {
  detail::Draw draw(seed);
  std::vector<double> supply(network.num_nodes);
  double sum = 0;
  for (double& value : supply) sum += value = detail::draw_supply(supplies, draw);
  // Integers stay integers: what is too much goes to one node.
  if (!supply.empty())
    supply[network.ground == kNoNode ? draw.below(network.num_nodes) : network.ground] -= sum;
  return supply;
}

// Connected, with parallel edges; a contracted one has many edges to the ground.
inline Problem random_problem(const Shape& shape, uint64_t seed) {
  detail::Draw draw(seed);
  Problem problem;
  Network& network = problem.network;
  network.directed = shape.directed;
  std::vector<int32_t> names(shape.nodes);
  const bool grounded = shape.contracted > 0;
  const int32_t hidden = grounded ? std::max(1, static_cast<int32_t>(shape.nodes * shape.contracted)) : 0;
  network.num_nodes = shape.nodes - hidden + (grounded ? 1 : 0);
  if (grounded) network.ground = static_cast<int32_t>(draw.below(network.num_nodes));
  for (int32_t v = 0; v < shape.nodes; ++v) names[v] = v < hidden ? network.ground : v - hidden;
  for (int32_t v = hidden; grounded && v < shape.nodes; ++v) names[v] += names[v] >= network.ground ? 1 : 0;
  for (int32_t v = shape.nodes; v > 1; --v) std::swap(names[v - 1], names[draw.below(v)]);

  const auto add = [&](int32_t a, int32_t b) {
    if (names[a] == names[b]) return;
    network.sources.push_back(names[a]);
    network.targets.push_back(names[b]);
    network.costs.push_back(detail::draw_cost(shape.costs, draw));
  };
  for (int32_t v = 1; v < shape.nodes; ++v) {
    const auto other = static_cast<int32_t>(draw.below(v));
    const bool down = draw.below(2) == 0;
    if (down || (shape.directed && !shape.one_way)) add(other, v);
    if (!down || (shape.directed && !shape.one_way)) add(v, other);
  }
  for (int64_t e = shape.nodes - 1; shape.nodes > 1 && e < shape.edges; ++e) {
    const auto source = static_cast<int32_t>(draw.below(shape.nodes));
    add(source, static_cast<int32_t>(draw.below(shape.nodes)));
  }
  problem.supply = random_supply(network, shape.supplies, seed + 1);
  return problem;
}

}  // namespace qw::transport
