// Small transport problems with any numbers: every exact solver must come to the same distance, and none may
// hang, overflow or throw anything but a refusal.
//
// The input: a byte of options, the number of nodes and of edges, two bytes of labelled nodes, then edges
// (source, target, cost) and values (mu, gamma). A number is a byte that stands for itself if it is small,
// names one of kSpecial, or announces the eight bytes of a double.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "qw/core/error.h"
#include "qw/core/parallel.h"
#include "qw/transport/wasserstein.h"

namespace qw {
namespace {

constexpr int64_t kMostNodes = 12;
constexpr int64_t kMostEdges = 40;
constexpr double kTolerance = 1e-6;
constexpr double kPromisedGap = 1e-9;
constexpr double kOrdinary = 1e100;  // numbers between this and its inverse lose no digits
constexpr double kSecondsOfFirstOrder = 0.05;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::array kSpecial{
    5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-150, 1e-20, 1e-9,  0.1,   0.2,    0.3,
    0.5,    0.7,    0.3333333333333333,      1e9,    1e20,   1e150, 1e300, 1e307, 1.7e308};
constexpr uint8_t kFirstSpecial = 64;
constexpr uint8_t kFirstDouble = 128;

class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  int64_t below(int64_t bound) { return byte() % bound; }

  double number() {
    const uint8_t kind = byte();
    if (kind < kFirstSpecial) return kind % 16;
    if (kind < kFirstDouble) return kSpecial[(kind - kFirstSpecial) % kSpecial.size()];
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<uint64_t>(byte()) << (8 * i);
    const double value = std::bit_cast<double>(bits);
    return std::isfinite(value) ? value : 0;
  }

 private:
  std::span<const uint8_t> bytes_;
};

struct Case {
  Graph graph;
  std::vector<NodeId> labelled;
  std::vector<double> mu, gamma;
  double slack_cost = kInfinity;
  bool remembers = false;    // solve with the memory of other values and of the solver before
  bool first_order = false;  // with the solver that is not exact, and slow
  double magnitude = 0;      // sum |values|
  double most_cost = 1;
  bool ordinary = true;

  void note(double number) {
    const double size = std::fabs(number);
    ordinary = ordinary && (size == 0 || (size < kOrdinary && size > 1 / kOrdinary));
  }
};

Case decode(Bytes bytes) {
  const uint8_t choices = bytes.byte();
  Case result;
  EdgeList edges;
  edges.num_nodes = 1 + bytes.below(kMostNodes);
  const int64_t num_edges = bytes.below(kMostEdges + 1);
  const unsigned unlabelled = bytes.byte() | bytes.byte() << 8;
  for (int64_t e = 0; e < num_edges; ++e) {
    edges.heads.push_back(static_cast<NodeId>(bytes.below(edges.num_nodes)));
    edges.tails.push_back(static_cast<NodeId>(bytes.below(edges.num_nodes)));
    if ((choices & 2) != 0) edges.costs.push_back(std::fabs(bytes.number()));
  }
  if ((choices & 4) != 0) result.slack_cost = std::fabs(bytes.number());
  result.remembers = (choices & 16) != 0;
  result.first_order = (choices & 128) != 0;
  for (NodeId node = 0; node < edges.num_nodes; ++node) {
    if ((unlabelled >> node & 1) != 0) continue;
    result.labelled.push_back(node);
    result.mu.push_back(bytes.number());
    result.gamma.push_back(bytes.number());
  }
  if ((choices & 8) != 0 && !result.labelled.empty()) {  // balanced, up to rounding
    double sum = 0;
    for (size_t i = 0; i < result.mu.size(); ++i) sum += result.gamma[i] - result.mu[i];
    const double balanced = result.gamma.back() - sum;
    if (std::isfinite(balanced)) result.gamma.back() = balanced;
  }
  for (const auto* values : {&result.mu, &result.gamma}) {
    for (const double value : *values) {
      result.magnitude += std::fabs(value);
      result.note(value);
    }
  }
  for (const double cost : edges.costs) {
    result.most_cost = std::max(result.most_cost, cost);
    result.note(cost);
  }
  if (std::isfinite(result.slack_cost)) {
    result.most_cost = std::max(result.most_cost, result.slack_cost);
    result.note(result.slack_cost);
  }
  GraphOptions options;
  options.directed = (choices & 1) != 0;
  options.duplicates = (choices & 32) != 0 ? EdgePolicy::kKeep : EdgePolicy::kDrop;
  options.self_loops = (choices & 64) != 0 ? EdgePolicy::kKeep : EdgePolicy::kDrop;
  result.graph = Graph::build(std::move(edges), options);
  return result;
}

void require(bool holds, const std::string& solver, const char* what, const TransportColumn& result) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n  status %s, lower %.17g, upper %.17g, residual %g, violation %g\n",
               solver.c_str(), what, name(result.status), result.lower, result.upper, result.primal_residual,
               result.dual_violation);
  std::abort();
}

// The slack of the bounds: relative, and what the largest cost makes of rounding the values.
double slack_of(const Case& problem, double upper) {
  return kTolerance * upper + kTolerance * problem.magnitude * problem.most_cost;
}

void check_flow(const Case& problem, const std::string& solver, const TransportColumn& result) {
  const Graph& graph = problem.graph;
  std::vector<double> received(graph.num_nodes(), 0.0);
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    require(std::isfinite(result.flow[e]), solver, "a flow that is not finite", result);
    require(!graph.directed() || result.flow[e] >= 0, solver, "flow against the direction", result);
    received[graph.heads()[e]] += result.flow[e];
    received[graph.tails()[e]] -= result.flow[e];
  }
  if (std::isfinite(problem.slack_cost)) return;  // what is given away is no flow
  for (size_t i = 0; i < problem.labelled.size(); ++i) {
    const double missing = received[problem.labelled[i]] - (problem.gamma[i] - problem.mu[i]);
    require(std::fabs(missing) <= kTolerance * problem.magnitude, solver, "a node is not served", result);
  }
}

void check(const Case& problem, const std::string& solver, bool exact, const TransportColumn& result) {
  if (result.status == TransportStatus::kInfeasible) return;
  require(!std::isnan(result.lower) && !std::isnan(result.upper), solver, "a bound is NaN", result);
  require(result.lower >= 0 && result.lower <= result.upper, solver, "no interval", result);
  for (const double value : result.potential)
    require(std::isfinite(value), solver, "a potential that is not finite", result);
  if (exact || std::isfinite(result.upper)) check_flow(problem, solver, result);
  const bool closed =
      std::isfinite(result.upper) && result.upper - result.lower <= kPromisedGap * result.upper;
  require((result.status == TransportStatus::kOptimal) == closed, solver, "a status that is not true",
          result);
  if (!exact || !problem.ordinary) return;
  require(result.status != TransportStatus::kTimeLimit, solver, "stopped without a limit", result);
  require(std::isfinite(result.upper), solver, "no flow was found", result);
  require(result.upper - result.lower <= slack_of(problem, result.upper), solver, "not optimal", result);
}

void check_pair(const Case& problem, const std::string& solver, const TransportColumn& result,
                const TransportColumn& first) {
  if (std::isinf(result.upper)) return;  // no flow was found in time
  const bool feasible = result.status != TransportStatus::kInfeasible;
  require(feasible == (first.status != TransportStatus::kInfeasible), solver, "another feasibility", result);
  if (!feasible) return;
  const double slack = slack_of(problem, std::min(result.upper, first.upper));
  require(result.lower <= first.upper + slack && first.lower <= result.upper + slack, solver,
          "another distance", result);
}

// Refusals are errors too; anything else, and broken promises of the library, end the program.
bool solve(const Case& problem, const TransportPlan& plan, const TransportSolverInfo& info,
           TransportPlan::Memory& memory, TransportColumn& result) {
  TransportOptions options;
  options.solver = info.name;
  if (!info.exact) options.time_limit = kSecondsOfFirstOrder;
  try {
    if (!problem.remembers) memory = {};
    if (problem.remembers) plan.solve(problem.gamma, problem.mu, 1, options, &memory);
    result = plan.solve(problem.mu, problem.gamma, 1, options, &memory).front();
    return true;
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

void run(const Case& problem) {
  const TransportPlan plan(problem.graph, problem.labelled, problem.slack_cost);
  TransportPlan::Memory memory;
  std::vector<TransportColumn> exact;
  for (const TransportSolverInfo& info : transport_solvers()) {
    TransportColumn result;
    if (info.name.starts_with("lemon") || (!info.exact && !problem.first_order)) continue;
    if (!solve(problem, plan, info, memory, result)) continue;
    check(problem, info.name, info.exact, result);
    if (!exact.empty()) check_pair(problem, info.name, result, exact.front());
    if (info.exact) exact.push_back(std::move(result));
  }
}

}  // namespace
}  // namespace qw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  qw::set_thread_count(1);
  const qw::Case problem = qw::decode(qw::Bytes({data, size}));
  if (problem.slack_cost > 0) qw::run(problem);
  return 0;
}
