// Every case of tests/golden/transport.json and of $QW_GOLDEN_DIR/transport.json: distances by linear
// programming.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "support/support.h"
#include "transport/verify.h"

namespace qw {
namespace {

using nlohmann::json;

test::TransportProblem problem_of(const json& given) {
  EdgeList edges;
  edges.num_nodes = given.at("nodes").get<int64_t>();
  for (const json& edge : given.at("edges")) {
    edges.tails.push_back(edge[0].get<NodeId>());
    edges.heads.push_back(edge[1].get<NodeId>());
  }
  edges.costs = given.at("weights").get<std::vector<double>>();
  GraphOptions options;
  options.directed = given.at("directed").get<bool>();
  return {Graph::build(std::move(edges), options), given.at("labelled").get<std::vector<NodeId>>(),
          given.at("mu").get<std::vector<double>>(), given.at("gamma").get<std::vector<double>>()};
}

class TransportGolden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(TransportGolden, EveryCaseByEveryExactSolver) {
  const std::filesystem::path path = GetParam() / "transport.json";
  QW_SKIP_WITHOUT(path);
  const json document = json::parse(read_file(path));
  std::vector<std::string> solvers{"auto"};
  for (const TransportSolverInfo& info : transport_solvers()) {
    if (info.exact) solvers.push_back(info.name);
  }
  int64_t number = 0;
  for (const json& given : document.at("cases")) {
    const test::TransportProblem problem = problem_of(given);
    for (const std::string& solver : solvers) {
      SCOPED_TRACE(fmt::format("case {}, solver {}", number, solver));
      TransportOptions options;
      options.solver = solver;
      TransportColumn result;
      try {
        result = test::solve(problem, options);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("cannot take this problem"));
        continue;
      }
      EXPECT_EQ(result.status != TransportStatus::kInfeasible, given.at("feasible").get<bool>());
      if (result.status == TransportStatus::kInfeasible) continue;
      test::expect_optimal(problem, result);
      const double expected = given.at("distance").get<double>();
      EXPECT_NEAR(result.distance, expected, 1e-9 * std::max(1e-9, expected));
    }
    ++number;
  }
  EXPECT_GT(number, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, TransportGolden,
                         testing::Values(test::own_golden_folder(), test::golden_folder()),
                         test::golden_folder_name);

}  // namespace
}  // namespace qw
