// The library LEMON behind plain vectors: its headers compile as C++17 only, so this header must too.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace qw::transport::lemon_bridge {

enum class Method { kNetworkSimplex, kCostScaling };

// Every arc stands for itself; flow on it is >= 0 and not limited.
struct Problem {
  int num_nodes = 0;
  std::vector<std::pair<int, int>> arcs;  // (source, target), sorted by source
  std::vector<int64_t> costs;             // per arc, >= 0
  std::vector<int64_t> supplies;          // per node, with sum zero
};

struct Solution {
  bool feasible = false;
  std::vector<int64_t> flow;       // per arc; empty when infeasible, as is the potential
  std::vector<int64_t> potential;  // per node: potential[source] - potential[target] <= cost
};

// The caller sees to it that nothing overflows: see `cost_bits` in lemon.cpp.
Solution solve(const Problem& problem, Method method);

}  // namespace qw::transport::lemon_bridge
