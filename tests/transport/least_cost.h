// The distance by a slow way that shares nothing with the library: successive shortest ways (Bellman and
// Ford) in 128-bit integers, so that every comparison is exact.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/verify.h"

namespace qw::test {

using Exact = __int128;

// value / 2^exponent, which must be an integer of at most 126 bits.
inline Exact exactly(double value, int exponent) {
  int shift = 0;
  const double mantissa = std::frexp(value, &shift);
  auto digits = static_cast<Exact>(std::ldexp(mantissa, 53));
  for (shift -= 53 + exponent; shift > 0; --shift) digits *= 2;
  for (; shift < 0; ++shift) {
    EXPECT_EQ(static_cast<int>(digits % 2), 0) << value;
    digits /= 2;
  }
  return digits;
}

class LeastCost {
 public:
  // Costs are multiples of 2^cost_exponent, values of 2^value_exponent.
  LeastCost(const TransportProblem& problem, int cost_exponent, int value_exponent)
      : ground_(problem.graph.num_nodes()), left_(ground_ + 1, 0) {
    std::vector<char> is_labelled(ground_, 0);
    for (size_t i = 0; i < problem.labelled.size(); ++i) {
      is_labelled[problem.labelled[i]] = 1;
      const Exact amount = exactly(problem.mu[i], value_exponent) - exactly(problem.gamma[i], value_exponent);
      left_[problem.labelled[i]] = amount;
      left_[ground_] -= amount;
    }
    for (EdgeId e = 0; e < problem.graph.num_edges(); ++e) {
      const NodeId head = problem.graph.heads()[e], tail = problem.graph.tails()[e];
      const double cost = cost_of(problem.graph, e);
      arcs_.push_back({tail, head, exactly(cost, cost_exponent), cost, 0});
      if (!problem.graph.directed()) arcs_.push_back({head, tail, exactly(cost, cost_exponent), cost, 0});
    }
    for (NodeId v = 0; v < ground_; ++v) {
      if (is_labelled[v]) continue;
      arcs_.push_back({v, ground_, 0, 0, 0});
      arcs_.push_back({ground_, v, 0, 0, 0});
    }
    value_unit_ = std::ldexp(1.0, value_exponent);
  }

  // Nothing when there is no flow.
  std::optional<double> distance() {
    for (int64_t v = 0; v <= ground_; ++v) {
      while (left_[v] > 0) {
        if (!send_from(v)) return std::nullopt;
      }
    }
    double cost = 0;
    for (const Arc& arc : arcs_) cost += arc.real_cost * static_cast<double>(arc.flow) * value_unit_;
    return cost;
  }

 private:
  struct Arc {
    int64_t from, to;
    Exact cost;
    double real_cost;
    Exact flow;
  };

  // One shortest way to any node that wants something.
  bool send_from(int64_t start) {
    const size_t count = left_.size();
    std::vector<std::optional<Exact>> length(count);
    std::vector<std::pair<size_t, bool>> by(count);  // the arc, and whether it is used backwards
    length[start] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t a = 0; a < arcs_.size(); ++a) {
        for (const bool back : {false, true}) {
          const Arc& arc = arcs_[a];
          if (back && arc.flow == 0) continue;
          const int64_t from = back ? arc.to : arc.from, to = back ? arc.from : arc.to;
          if (!length[from]) continue;
          const Exact longer = *length[from] + (back ? -arc.cost : arc.cost);
          if (length[to] && *length[to] <= longer) continue;
          length[to] = longer;
          by[to] = {a, back};
          changed = true;
        }
      }
    }
    int64_t end = -1;
    for (int64_t v = 0; v <= ground_; ++v) {
      if (left_[v] < 0 && length[v] && (end < 0 || *length[v] < *length[end])) end = v;
    }
    if (end < 0) return false;
    Exact amount = std::min(left_[start], -left_[end]);
    const auto along = [&](auto&& visit) {
      for (int64_t v = end; v != start;) {
        Arc& arc = arcs_[by[v].first];
        visit(arc, by[v].second);
        v = by[v].second ? arc.to : arc.from;
      }
    };
    along([&](const Arc& arc, bool back) { amount = back ? std::min(amount, arc.flow) : amount; });
    along([&](Arc& arc, bool back) { arc.flow += back ? -amount : amount; });
    left_[start] -= amount;
    left_[end] += amount;
    return true;
  }

  int64_t ground_;
  std::vector<Exact> left_;  // to send, or to take when negative
  std::vector<Arc> arcs_;
  double value_unit_ = 1;
};

}  // namespace qw::test
