// Primal-dual hybrid gradient for flows: a first-order solver whose iteration is one pass over the arcs.
//
// What makes it quick: Halpern's iteration with reflection, restarted when the fixed-point residual has
// shrunk (Lu and Yang 2024; Lu, Peng and Yang 2025); steps per edge by cost and by the flow found so far, so
// that edges that carry much move fast; and a repair of the flow over a tree that prefers edges on which a
// correction costs little.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "transport/certificate.h"
#include "transport/solvers/primal_dual_iterate.h"
#include "transport/solvers/solvers.h"

namespace qw::transport {
namespace {

constexpr double kTightestGap = 1e-6;     // what gap 0 is taken for: first-order steps do not end
constexpr double kFloatGap = 5e-5;        // down to which 32-bit numbers do
constexpr int64_t kMostPasses = 200'000;  // a promise to end, far beyond any use
constexpr int kMostStalled = 8;           // looks in a row without progress
constexpr int kMeasureEvery = 4;          // passes
constexpr double kShrunkEnough = 0.2;     // restart when the residual since the last one fell by this factor,
constexpr double kShrunkSome = 0.8;       // or by this one and it grows again,
constexpr double kLongestRun = 0.36;      // or after this part of all passes

// The best bounds so far and what gave them.
struct Best {
  std::vector<double> flow;
  std::vector<double> potential;
  double upper = std::numeric_limits<double>::infinity();
  double lower = -1;

  void take(Certified&& found) {
    if (found.upper < upper || flow.empty()) {
      upper = found.upper;
      flow = std::move(found.flow);
    }
    if (found.lower > lower) {
      lower = found.lower;
      potential = std::move(found.potential);
    }
  }
  double gap() const {
    if (upper == 0) return 0;
    return std::isfinite(upper) ? (upper - lower) / upper : std::numeric_limits<double>::infinity();
  }
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

template <class Real>
class Search {
 public:
  Search(const Network& network, const Arcs& arcs, std::span<const double> supply, const Limits& limits)
      : network_(network),
        arcs_(arcs),
        supply_(supply),
        deadline_(limits.deadline),
        wanted_(std::max(limits.gap, kTightestGap)),
        iterate_(network, arcs, supply, limits.deadline) {}

  Outcome run(const Memory& memory) {
    if (memory.potential.size() == static_cast<size_t>(network_.num_nodes))
      iterate_.start_at(memory.potential);
    iterate_.restart();
    while (!stuck() && time_for_more()) {
      const Stopwatch watch;
      bool restart = false, look = false;
      if (!step(restart, look)) break;
      pass_seconds_ = watch.seconds();
      if (!restart && !look) continue;
      if (!iterate_.advance(Blend{})) break;
      ++passes_;
      iterate_.restart();
      since_restart_ = 0;
      if (look || passes_ >= next_look_) {
        check();
        if (best_.gap() <= wanted_) return Outcome::kSolved;
      }
    }
    if (deadline_.seconds_left() > check_seconds()) check();
    return best_.gap() <= wanted_ ? Outcome::kSolved : Outcome::kStopped;
  }

  Best& best() { return best_; }
  bool stuck() const { return stalled_ >= kMostStalled || passes_ >= kMostPasses; }
  const Iterate<Real>& iterate() const { return iterate_; }

 private:
  // Ends early enough for a last look at the bounds; where not even one can be afforded, the passes get all
  // the time.
  bool time_for_more() const {
    const double left = deadline_.seconds_left(), passes = 2 * pass_seconds_;
    const bool last_chance = left > check_seconds() && left <= passes + 1.3 * check_seconds();
    return left > passes && !last_chance;
  }
  double check_seconds() const { return check_seconds_ > 0 ? check_seconds_ : 25 * pass_seconds_; }

  bool step(bool& restart, bool& look) {
    const double part = static_cast<double>(since_restart_ + 1) / static_cast<double>(since_restart_ + 2);
    const Blend blend{part, part, 1 - part};
    const int64_t run = since_restart_++;
    ++passes_;
    if (run % kMeasureEvery != 0) return iterate_.advance(blend);
    Sums length;
    if (!iterate_.advance(blend, length)) return false;
    const double before = std::exchange(residual_, length.length());
    if (run == 0) {
      first_residual_ = residual_;
      return true;
    }
    restart = residual_ <= kShrunkEnough * first_residual_ ||
              (residual_ <= kShrunkSome * first_residual_ && residual_ > before) ||
              static_cast<double>(run) >= std::max(40.0, kLongestRun * static_cast<double>(passes_));
    look =
        gap_per_residual_ > 0 && gap_per_residual_ * residual_ <= 0.9 * wanted_ && passes_ >= last_look_ + 16;
    return true;
  }

  // Certified bounds cost as much as some dozen passes: they are taken when the residual promises that the
  // gap is reached, and else ever more rarely.
  void check() {
    const Stopwatch watch;
    std::vector<double> potential = iterate_.feasible_potential();
    const Routes routes = iterate_.repair_routes();
    const double gap_before = best_.gap();
    best_.take(certify(network_, arcs_, routes, supply_, iterate_.flow(), std::move(potential), deadline_));
    stalled_ = best_.gap() > 0.98 * gap_before ? stalled_ + 1 : 0;
    if (residual_ > 0) gap_per_residual_ = best_.gap() / residual_;
    check_seconds_ = watch.seconds();
    last_look_ = passes_;
    next_look_ = passes_ + std::max<int64_t>(40, passes_ / 2);
  }

  const Network& network_;
  const Arcs& arcs_;
  std::span<const double> supply_;
  const Deadline& deadline_;
  double wanted_;
  Iterate<Real> iterate_;
  Best best_;
  int stalled_ = 0;
  int64_t passes_ = 0, since_restart_ = 0, last_look_ = 0, next_look_ = 40;
  double residual_ = 0, first_residual_ = 0, gap_per_residual_ = 0;
  double pass_seconds_ = 0, check_seconds_ = 0;
};

bool is_zero(const Network& network, std::span<const double> supply) {
  for (int32_t v = 0; v < network.num_nodes; ++v) {
    if (v != network.ground && supply[v] != 0) return false;
  }
  return true;
}

template <class Real>
Answer solve_in(const Network& network, const Arcs& arcs, std::span<const double> supply,
                const Limits& limits, Memory& memory, bool& stuck) {
  Search<Real> search(network, arcs, supply, limits);
  Answer answer;
  answer.outcome = search.run(memory);
  stuck = search.stuck();
  Best& best = search.best();
  answer.flow = best.flow.empty() ? search.iterate().flow() : std::move(best.flow);
  answer.potential = best.potential.empty() ? search.iterate().potential() : std::move(best.potential);
  memory.potential = answer.potential;
  return answer;
}

}  // namespace

const char* refuses_primal_dual(const Network& network, std::span<const double> /*supply*/) {
  if (!network.directed || network.num_nodes == 0) return nullptr;
  const Routes routes = routes_of(network, arcs_of(network));
  const auto nodes = static_cast<size_t>(network.num_nodes);
  if (routes.to_root.order.size() == nodes && routes.from_root.order.size() == nodes) return nullptr;
  return "needs ways between all nodes";
}

Answer solve_primal_dual(const Network& network, const Arcs& arcs, std::span<const double> supply,
                         const Limits& limits, Memory& memory) {
  const bool nothing_to_do = network.num_edges() == 0 || is_zero(network, supply);
  if (nothing_to_do || limits.deadline.passed()) {
    return {nothing_to_do ? Outcome::kSolved : Outcome::kStopped,
            std::vector<double>(network.num_edges(), 0.0), std::vector<double>(network.num_nodes, 0.0), 0};
  }
  bool stuck = false;
  if (limits.gap >= kFloatGap) {
    Answer answer = solve_in<float>(network, arcs, supply, limits, memory, stuck);
    if (answer.outcome == Outcome::kSolved || !stuck) return answer;
  }
  return solve_in<double>(network, arcs, supply, limits, memory, stuck);
}

}  // namespace qw::transport
