#include "qw/transport/wasserstein.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/deadline.h"
#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "transport/certificate.h"
#include "transport/pieces.h"
#include "transport/refine.h"
#include "transport/solver.h"
#include "transport/supply.h"

namespace qw {

using transport::Answer;
using transport::Certified;
using transport::kNoNode;
using transport::Outcome;
using transport::Piece;
using transport::Supply;

struct TransportPlan::Parts {
  int64_t num_nodes = 0;
  int64_t num_edges = 0;
  std::vector<NodeId> labelled;
  std::vector<Piece> pieces;
};

struct TransportPlan::Memory::Parts {
  std::vector<transport::Memory> of_task;  // [columns, pieces]
};

namespace {

constexpr double kExactGap = 1e-9;
constexpr double kSecondsToCertify = 5e-8;  // per edge and column, after the solvers were stopped

// What a column needs to know of one of its pieces; the flow and the potential are in the column already.
struct Solved {
  TransportStatus status = TransportStatus::kOptimal;
  double lower = 0;
  double upper = 0;
  double primal_residual = 0;
  double dual_violation = 0;
  double imbalance = 0;
};

struct Values {
  std::span<const double> mu;
  std::span<const double> gamma;
  int64_t columns;
};

void check_values(const Values& values, int64_t rows) {
  const auto expected = static_cast<size_t>(rows * values.columns);
  if (values.columns < 0 || values.mu.size() != expected || values.gamma.size() != expected) {
    fail(
        fmt::format("mu and gamma must have {} values each, one for each of {} labelled nodes and {} "
                    "columns; they have {} "
                    "and {}",
                    expected, rows, values.columns, values.mu.size(), values.gamma.size()));
  }
  for (const auto& [name, given] : {std::pair{"mu", values.mu}, std::pair{"gamma", values.gamma}}) {
    const auto bad = std::ranges::find_if(given, [](double value) { return !std::isfinite(value); });
    if (bad == given.end()) continue;
    const int64_t at = bad - given.begin();
    fail(fmt::format("{} is {} in row {}, column {}; values must be finite", name, *bad, at / values.columns,
                     at % values.columns));
  }
}

Solved infeasible(double imbalance) {
  Solved solved;
  solved.status = TransportStatus::kInfeasible;
  solved.imbalance = imbalance;
  return solved;
}

// `refinable`: the solver goes as far as its integers do, so that finer ones may go further.
Answer answer_for(const Piece& piece, std::span<const double> supply, const TransportOptions& options,
                  const transport::Limits& limits, transport::Memory& memory, bool& refinable) {
  const transport::Network& network = piece.network;
  const bool nothing_to_move = std::ranges::all_of(supply, [](double value) { return value == 0; });
  if (nothing_to_move || limits.deadline.passed()) {
    return {.outcome = nothing_to_move ? Outcome::kSolved : Outcome::kStopped,
            .flow = std::vector<double>(network.num_edges()),
            .potential = std::vector<double>(network.num_nodes)};
  }
  const transport::Solver& solver = options.solver == "auto"
                                        ? transport::choose_solver(network, supply, limits)
                                        : transport::solver_named(options.solver);
  if (const char* reason = solver.refuses(network, supply)) {
    fail(fmt::format("transport solver {} cannot take this problem: {}", solver.name, reason));
  }
  refinable = solver.exact;
  Answer answer = solver.solve(network, piece.arcs, supply, limits, memory);
  if (options.solver == "auto" && !solver.exact && answer.outcome == Outcome::kStopped &&
      !limits.deadline.comes() && !limits.deadline.passed()) {
    // First-order steps got stuck above the asked gap, which is a promise; nobody asked to be quick.
    refinable = true;
    return transport::solver_named("cost-scaling").solve(network, piece.arcs, supply, limits, memory);
  }
  return answer;
}

Supply supply_of(const Piece& piece, const Values& values, int64_t column) {
  std::vector<double> mu, gamma;
  for (const int64_t row : piece.rows) {
    mu.push_back(values.mu[row * values.columns + column]);
    gamma.push_back(values.gamma[row * values.columns + column]);
  }
  Supply supply = transport::supply_of(gamma, mu, piece.network.num_nodes);
  if (!std::isfinite(supply.magnitude)) {
    fail(fmt::format("the values of column {} are too large: the sum of their magnitudes overflows", column));
  }
  return supply;
}

// Pieces own disjoint edges and nodes, so that the tasks of a column may write into it at the same time.
void place(const Piece& piece, std::span<const NodeId> labelled, const Certified& certified,
           TransportColumn& result) {
  for (size_t e = 0; e < piece.edges.size(); ++e) {
    if (piece.edges[e] >= 0) result.flow[piece.edges[e]] = certified.flow[e];
  }
  for (size_t i = 0; i < piece.rows.size(); ++i)
    result.potential[labelled[piece.rows[i]]] = certified.potential[i];
}

Solved solve_piece(const Piece& piece, std::span<const NodeId> labelled, const Values& values, int64_t column,
                   const TransportOptions& options, const Deadline& deadline, transport::Memory& memory,
                   TransportColumn& result) {
  const transport::Network& network = piece.network;
  Supply supply = supply_of(piece, values, column);
  const double tolerance = options.balance_tolerance * supply.magnitude;
  double carried = 0;  // by a node, of the imbalance
  if (network.ground == kNoNode) {
    if (std::fabs(supply.imbalance) > tolerance) return infeasible(supply.imbalance);
    carried = std::fabs(supply.imbalance);
    transport::balance(supply);
  }
  bool refinable = false;
  Answer answer = answer_for(piece, supply.values, options, {options.gap, deadline}, memory, refinable);
  if (answer.outcome == Outcome::kInfeasible && answer.unrouted > tolerance)
    return infeasible(answer.unrouted);
  const bool stopped = answer.outcome == Outcome::kStopped;
  std::vector<int64_t> used;
  for (size_t e = 0; refinable && e < answer.flow.size(); ++e) {
    if (answer.flow[e] != 0) used.push_back(static_cast<int64_t>(e));
  }
  // What is too much and what finds no way may both end up at one node.
  Certified certified =
      transport::certify(network, piece.arcs, piece.routes, supply.values, std::move(answer.flow),
                         std::move(answer.potential), deadline, 2 * tolerance, supply.lost);
  if (refinable && !stopped) {
    transport::refine(network, piece.arcs, supply, std::move(used), std::max(options.gap, kExactGap),
                      deadline, certified);
  }
  place(piece, labelled, certified, result);
  return {.lower = certified.lower,
          .upper = certified.upper,
          .primal_residual = std::max(certified.primal_residual, carried),
          .dual_violation = certified.dual_violation};
}

TransportColumn infeasible_column(const Piece& piece, std::span<const NodeId> labelled, double imbalance) {
  TransportColumn column;
  column.status = TransportStatus::kInfeasible;
  column.distance = column.lower = column.upper = std::nan("");
  NodeId lowest = labelled[piece.rows.front()];
  for (const int64_t row : piece.rows) lowest = std::min(lowest, labelled[row]);
  column.obstacle = {lowest, static_cast<int64_t>(piece.rows.size()), imbalance};
  return column;
}

void merge(const Solved& solved, TransportColumn& column) {
  column.lower += solved.lower;
  column.upper += solved.upper;
  column.primal_residual = std::max(column.primal_residual, solved.primal_residual);
  column.dual_violation = std::max(column.dual_violation, solved.dual_violation);
}

// Only the interval says whether a column is solved: one that was cut short may be good enough all the same.
void finish(TransportColumn& column, double gap, const Deadline& deadline) {
  if (column.status == TransportStatus::kInfeasible) return;
  column.distance = column.upper;
  const bool near_enough = column.upper - column.lower <= std::max(gap, kExactGap) * column.upper;
  column.status = near_enough && std::isfinite(column.upper) ? TransportStatus::kOptimal
                  : deadline.was_cancelled()                 ? TransportStatus::kCancelled
                  : deadline.is_over()                       ? TransportStatus::kTimeLimit
                                                             : TransportStatus::kApproximate;
}

}  // namespace

const char* name(TransportStatus status) {
  switch (status) {
    case TransportStatus::kOptimal:
      return "optimal";
    case TransportStatus::kInfeasible:
      return "infeasible";
    case TransportStatus::kTimeLimit:
      return "time_limit";
    case TransportStatus::kApproximate:
      return "approximate";
    case TransportStatus::kCancelled:
      return "cancelled";
  }
  return "";
}

std::vector<TransportSolverInfo> transport_solvers() {
  std::vector<TransportSolverInfo> infos;
  for (const transport::Solver& solver : transport::solvers())
    infos.push_back({solver.name, solver.summary, solver.exact});
  return infos;
}

TransportPlan::TransportPlan(const Graph& graph, std::span<const NodeId> labelled, double slack_cost)
    : parts_(std::make_unique<Parts>()) {
  if (!(slack_cost > 0)) fail(fmt::format("the slack cost must be positive, not {}", slack_cost));
  parts_->num_nodes = graph.num_nodes();
  parts_->num_edges = graph.num_edges();
  parts_->labelled.assign(labelled.begin(), labelled.end());
  parts_->pieces = transport::pieces_of(graph, labelled, slack_cost);
}
TransportPlan::~TransportPlan() = default;
TransportPlan::TransportPlan(TransportPlan&&) noexcept = default;
TransportPlan& TransportPlan::operator=(TransportPlan&&) noexcept = default;

TransportPlan::Memory::Memory() : parts_(std::make_unique<Parts>()) {}
TransportPlan::Memory::~Memory() = default;
TransportPlan::Memory::Memory(Memory&&) noexcept = default;
TransportPlan::Memory& TransportPlan::Memory::operator=(Memory&&) noexcept = default;

// Of a piece: the edges of its spanning tree, fewer than its nodes, and its potential.
int64_t TransportPlan::memory_size(int64_t columns) const {
  int64_t size = 0;
  for (const Piece& piece : parts_->pieces) size += 2 * static_cast<int64_t>(piece.network.num_nodes);
  return size * columns;
}

std::vector<double> TransportPlan::saved(const Memory& memory, int64_t columns) const {
  std::vector<double> numbers(memory_size(columns), std::nan(""));
  double* place = numbers.data();
  for (size_t task = 0; task < static_cast<size_t>(columns * num_pieces()); ++task) {
    const int64_t nodes = parts_->pieces[task / columns].network.num_nodes;
    if (task < memory.parts_->of_task.size()) {
      const transport::Memory& of_task = memory.parts_->of_task[task];
      std::copy_n(of_task.basis.begin(), std::min<size_t>(nodes, of_task.basis.size()), place);
      std::copy_n(of_task.potential.begin(), std::min<size_t>(nodes, of_task.potential.size()),
                  place + nodes);
    }
    place += 2 * nodes;
  }
  return numbers;
}

TransportPlan::Memory TransportPlan::remembered(std::span<const double> saved, int64_t columns) const {
  QW_ASSERT(static_cast<int64_t>(saved.size()) == memory_size(columns));
  Memory memory;
  memory.parts_->of_task.resize(columns * num_pieces());
  for (size_t task = 0; task < memory.parts_->of_task.size(); ++task) {
    const size_t nodes = parts_->pieces[task / columns].network.num_nodes;
    transport::Memory& of_task = memory.parts_->of_task[task];
    for (const double edge : saved.first(nodes)) {
      if (edge >= 0) of_task.basis.push_back(static_cast<int64_t>(edge));
    }
    for (const double value : saved.subspan(nodes, nodes)) {
      if (!std::isnan(value)) of_task.potential.push_back(value);
    }
    saved = saved.subspan(2 * nodes);
  }
  return memory;
}

int64_t TransportPlan::num_labelled() const { return static_cast<int64_t>(parts_->labelled.size()); }
int64_t TransportPlan::num_pieces() const { return static_cast<int64_t>(parts_->pieces.size()); }

std::vector<TransportColumn> TransportPlan::solve(std::span<const double> mu, std::span<const double> gamma,
                                                  int64_t columns, const TransportOptions& options,
                                                  Memory* memory) const {
  const Values values{mu, gamma, columns};
  check_values(values, num_labelled());
  if (options.solver != "auto") transport::solver_named(options.solver);
  const double to_certify =
      kSecondsToCertify * static_cast<double>(parts_->num_edges * columns) / thread_count();
  const Deadline deadline =
      Deadline::after_seconds(options.time_limit - to_certify).or_when(options.cancelled);
  const int64_t pieces = num_pieces();

  Memory own;
  std::vector<transport::Memory>& remembered = (memory != nullptr ? *memory : own).parts_->of_task;
  remembered.resize(columns * pieces);
  std::vector<TransportColumn> results(columns);
  for (TransportColumn& column : results) {
    column.flow.assign(parts_->num_edges, 0.0);
    column.potential.assign(parts_->num_nodes, 0.0);
  }
  std::vector<Solved> solved(columns * pieces);
  // Largest pieces first, of all columns, so that none is left for the end.
  parallel_tasks(static_cast<int>(columns * pieces), [&](int task) {
    solved[task] = solve_piece(parts_->pieces[task / columns], parts_->labelled, values, task % columns,
                               options, deadline, remembered[task], results[task % columns]);
  });
  for (int64_t task = 0; task < columns * pieces; ++task) {
    TransportColumn& column = results[task % columns];
    if (column.status == TransportStatus::kInfeasible) continue;
    if (solved[task].status == TransportStatus::kInfeasible) {
      column = infeasible_column(parts_->pieces[task / columns], parts_->labelled, solved[task].imbalance);
    } else {
      merge(solved[task], column);
    }
  }
  for (TransportColumn& column : results) finish(column, options.gap, deadline);
  return results;
}

}  // namespace qw
