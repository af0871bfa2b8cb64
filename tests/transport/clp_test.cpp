// Agreement with Clp, a solver of linear programs that knows nothing of graphs, on a thousand random
// problems.
#include <coin/Clp_C_Interface.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "qw/core/random.h"
#include "transport/verify.h"

namespace qw {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : stream_(seed, 2) {}
  double uniform() { return stream_.uniform(next_++); }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(stream_.below(next_++, static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// Sparse graphs, so that parts, isolated nodes and one-way streets are common, and with them infeasible
// problems.
test::TransportProblem random_problem(uint64_t seed) {
  Draw draw(seed);
  EdgeList edges;
  edges.num_nodes = 2 + draw.below(24);
  const int64_t count = edges.num_nodes / 2 + draw.below(3 * edges.num_nodes);
  const int64_t cost_kind = draw.below(3);
  for (int64_t e = 0; e < count; ++e) {
    edges.heads.push_back(static_cast<NodeId>(draw.below(edges.num_nodes)));
    edges.tails.push_back(static_cast<NodeId>(draw.below(edges.num_nodes)));
    edges.costs.push_back(cost_kind == 0   ? 1.0
                          : cost_kind == 1 ? 3 * draw.uniform()
                                           : static_cast<double>(draw.below(3)));
  }
  GraphOptions options;
  options.directed = draw.below(2) == 1;
  test::TransportProblem problem;
  const double share = draw.below(4) == 0 ? 1.0 : draw.uniform();
  double sum = 0;
  for (NodeId node = 0; node < edges.num_nodes; ++node) {
    if (share < 1 && draw.uniform() > share) continue;
    problem.labelled.push_back(node);
    problem.mu.push_back(2 * draw.uniform() - 1);
    problem.gamma.push_back(draw.below(5) == 0 ? problem.mu.back() : 2 * draw.uniform() - 1);
    sum += problem.gamma.back() - problem.mu.back();
  }
  if (draw.below(2) == 0 && !problem.mu.empty()) problem.mu.back() += sum;
  problem.graph = Graph::build(std::move(edges), options);
  return problem;
}

// The least cost, or nothing when the constraints cannot be met.
std::optional<double> by_linear_programming(const test::TransportProblem& problem) {
  const Graph& graph = problem.graph;
  std::vector<int> row_of(graph.num_nodes(), -1);
  for (size_t i = 0; i < problem.labelled.size(); ++i) row_of[problem.labelled[i]] = static_cast<int>(i);
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> entries, costs;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    for (const double sign : {1.0, -1.0}) {
      if (sign < 0 && graph.directed()) continue;
      const std::pair<NodeId, double> ends[] = {{graph.heads()[e], sign}, {graph.tails()[e], -sign}};
      for (const auto& [node, entry] : ends) {
        if (row_of[node] < 0) continue;
        rows.push_back(row_of[node]);
        entries.push_back(entry);
      }
      starts.push_back(static_cast<CoinBigIndex>(rows.size()));
      costs.push_back(test::cost_of(graph, e));
    }
  }
  std::vector<double> residual;
  for (size_t i = 0; i < problem.mu.size(); ++i) residual.push_back(problem.gamma[i] - problem.mu[i]);
  const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_setPrimalTolerance(model.get(), 1e-9);
  Clp_setDualTolerance(model.get(), 1e-9);
  Clp_loadProblem(model.get(), static_cast<int>(costs.size()), static_cast<int>(residual.size()),
                  starts.data(), rows.data(), entries.data(), nullptr, nullptr, costs.data(), residual.data(),
                  residual.data());
  Clp_dual(model.get(), 0);
  if (Clp_status(model.get()) == 1) return std::nullopt;
  EXPECT_EQ(Clp_status(model.get()), 0);
  return Clp_objectiveValue(model.get());
}

TEST(TransportAgainstClp, OnAThousandRandomProblems) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("problem {}", seed));
    const test::TransportProblem problem = random_problem(seed);
    const TransportColumn result = test::solve(problem);
    const std::optional<double> expected = by_linear_programming(problem);
    ASSERT_EQ(result.status != TransportStatus::kInfeasible, expected.has_value());
    if (!expected) continue;
    ++feasible;
    test::expect_optimal(problem, result);
    EXPECT_NEAR(result.distance, *expected, 1e-7 * (1 + *expected));
  }
  EXPECT_GT(feasible, 300);
  EXPECT_LT(feasible, 900);
}

}  // namespace
}  // namespace qw
