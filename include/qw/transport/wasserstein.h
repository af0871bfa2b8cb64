// Exact optimal transport on a graph: the Wasserstein-1 distance and its partial form, with proof.
//
// Mass moves along edges; moving one unit over edge e costs w_e (costs() of the graph, 1 without). Only the
// labelled nodes are bound: the flow must carry their values mu to gamma, that is
//
//   W1(mu, gamma) = min_f  sum_e w_e |f_e|   s.t.  (S f)[v] = gamma[v] - mu[v]  for every labelled v
//   (equations 6-10)
//
// with S[head, e] = +1 and S[tail, e] = -1: f > 0 carries mass from tail to head, along the arrow of a
// directed graph, where f >= 0. The other nodes give and take
// freely; when every node is labelled this is the full W1. The dual gives a potential p per node, 0 on
// unlabelled nodes,
//
//   max_p  <p, gamma - mu>   s.t.  p[head] - p[tail] <= w_e   (undirected: both ways),
//
// and dW1/dmu = -p (Danskin; a subgradient where p is not unique).
//
// Values are real numbers of any sign. The distance is certified: `flow` is feasible and costs `upper`;
// `potential` is feasible and is worth `lower`; the distance lies between them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qw/core/export.h"
#include "qw/graph/graph.h"

namespace QW_PUBLIC qw {

// How a solution ended.
enum class TransportStatus {
  kOptimal,      // upper - lower is at most `gap` * upper, or 1e-9 * upper when a smaller gap was asked
  kInfeasible,   // a part of the graph cannot deliver; see `obstacle`
  kTimeLimit,    // stopped early; the interval holds
  kApproximate,  // the numbers or the solver allow no narrower interval; it holds
  kCancelled,    // stopped early, by `cancelled`; the interval holds
};
const char* name(
    TransportStatus status);  // "optimal", "infeasible", "time_limit", "approximate", "cancelled"

// Why there is no flow: the labelled nodes of this part are connected with each other, and not well enough
// with the rest.
struct TransportObstacle {
  NodeId node = -1;       // the lowest of its nodes
  int64_t num_nodes = 0;  // how many labelled nodes it has
  double imbalance = 0;   // sum of gamma - mu over it; in a directed graph, the amount that finds no way
};

// The solution of one column of values.
struct TransportColumn {
  TransportStatus status = TransportStatus::kOptimal;  // read off the bounds
  double distance = 0;                                 // = upper; NaN when infeasible
  double lower = 0;                                    // proved by `potential`
  double upper = 0;               // infinite when no feasible flow was found in time, or beyond all doubles
  double primal_residual = 0;     // largest violation of a labelled node's constraint
  double dual_violation = 0;      // largest violation of an edge's constraint
  std::vector<double> flow;       // [E]; empty when infeasible
  std::vector<double> potential;  // [N]; empty when infeasible
  TransportObstacle obstacle;     // when infeasible
};

// Which solver, how exact, and when to stop.
struct TransportOptions {
  std::string solver = "auto";                                  // or one of transport_solvers()
  double gap = 0;                                               // relative gap to be content with; 0: exact
  double time_limit = std::numeric_limits<double>::infinity();  // seconds, for all columns together
  // A connected, wholly labelled part is balanced when |sum(gamma - mu)| <= this * sum(|gamma| + |mu|) over
  // it; the node that gives or takes most then carries the difference as its primal residual.
  double balance_tolerance = 1e-9;
  // Asked every few milliseconds, by several threads at once; when it says yes, all columns stop as at the
  // time limit.
  std::function<bool()> cancelled;
};

// An entry of the list of solvers.
struct TransportSolverInfo {
  std::string name;     // for TransportOptions::solver
  std::string summary;  // one line for --help
  bool exact = true;    // else it ends at a gap of 1e-6 at best
};
// Every solver of this build; LEMON's where it was found.
std::vector<TransportSolverInfo> transport_solvers();

// The pieces of a graph that can be solved apart, for one set of labelled nodes: made once, used for many
// values.
//
// Unlabelled nodes are contracted to a free ground node, parallel edges to it keep the cheapest, and parts
// that hang together only through it are solved apart. O(N + E) time and memory.
class TransportPlan {
 public:
  // `labelled`: distinct nodes in any order. A finite `slack_cost` (> 0) makes every problem feasible: a
  // labelled node of a wholly labelled part, and every labelled node of a directed graph, may give away or
  // take up a unit for this price without moving it; what does so is no flow on an edge, and
  // `primal_residual` does not count it. Throws qw::Error on a node outside the graph or named twice, and on
  // a slack cost that is not positive.
  TransportPlan(const Graph& graph, std::span<const NodeId> labelled,
                double slack_cost = std::numeric_limits<double>::infinity());
  ~TransportPlan();
  TransportPlan(TransportPlan&&) noexcept;
  TransportPlan& operator=(TransportPlan&&) noexcept;

  // What earlier solutions leave for later ones on the same plan: pass the same object to every solve() of
  // values that change little (the columns are remembered apart). The distance does not depend on it; which
  // of several optimal flows and potentials is found may.
  class Memory {
   public:
    // Nothing is remembered.
    Memory();
    ~Memory();
    Memory(Memory&&) noexcept;
    Memory& operator=(Memory&&) noexcept;

   private:
    friend class TransportPlan;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  // A memory of `columns` columns as numbers for a checkpoint, always memory_size() of them, NaN where
  // nothing is remembered; and back: what follows has the same bits as with the memory itself.
  int64_t memory_size(int64_t columns) const;
  std::vector<double> saved(const Memory& memory, int64_t columns) const;
  Memory remembered(std::span<const double> saved, int64_t columns) const;

  // mu and gamma [n, columns], row-major, rows as `labelled` was given. Columns and pieces are solved in
  // parallel; the result is the same for any number of threads unless the time limit cuts in. Throws
  // qw::Error on sizes that do not fit, values that are not finite or whose sum is not, an unknown solver or
  // one that cannot take the problem.
  std::vector<TransportColumn> solve(std::span<const double> mu, std::span<const double> gamma,
                                     int64_t columns, const TransportOptions& options = {},
                                     Memory* memory = nullptr) const;

  // Labelled nodes.
  int64_t num_labelled() const;
  // Parts that are solved apart.
  int64_t num_pieces() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace qw
