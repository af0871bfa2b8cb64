// The distances of qw w1, by files and by batch, against Clp, a solver of linear programs that knows nothing
// of graphs and reads none of our data structures.
#include <coin/Clp_C_Interface.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>

#include "cli/program.h"
#include "core/text.h"
#include "qw/core/random.h"

namespace qw::test {
namespace {

using nlohmann::json;

class Draw {
 public:
  explicit Draw(uint64_t seed) : stream_(seed, 7) {}
  int below(int bound) { return static_cast<int>(stream_.below(next_++, static_cast<uint64_t>(bound))); }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

struct Edge {
  int from, to;
  int cost;
};

struct Problem {
  int nodes = 0;
  bool directed = false;
  std::vector<Edge> edges;
  std::map<int, double> mu, gamma;  // those that are listed
};

// A ring, so that every node is in the edges, and chords; values in sixteenths, so that sums are exact.
Problem random_problem(uint64_t seed, bool directed) {
  Draw draw(seed);
  Problem problem;
  problem.directed = directed;
  problem.nodes = 3 + draw.below(10);
  for (int node = 0; node < problem.nodes; ++node) {
    problem.edges.push_back({node, (node + 1) % problem.nodes, draw.below(4)});
  }
  if (directed) problem.edges.erase(problem.edges.begin() + draw.below(problem.nodes));
  for (int chords = draw.below(problem.nodes); chords > 0; --chords) {
    const int from = draw.below(problem.nodes), to = draw.below(problem.nodes);
    if (from != to) problem.edges.push_back({from, to, draw.below(4)});
  }
  for (int node = 0; node < problem.nodes; ++node) {
    if (draw.below(4) > 0) problem.mu[node] = draw.below(32) / 16.0;
    if (draw.below(4) > 0) problem.gamma[node] = draw.below(32) / 16.0;
  }
  problem.mu[0] = 1;
  problem.gamma[0] = 0.5;
  return problem;
}

double at(const std::map<int, double>& values, int node) {
  const auto found = values.find(node);
  return found == values.end() ? 0 : found->second;
}

double sum(const std::map<int, double>& values) {
  double total = 0;
  for (const auto& [node, value] : values) total += value;
  return total;
}

// The least cost that brings `wanted` to its nodes and anything to the others; nothing when there is no way.
std::optional<double> by_linear_programming(const Problem& problem, const std::map<int, double>& wanted) {
  std::map<int, int> row_of;
  std::vector<double> sides;
  for (const auto& [node, amount] : wanted) {
    row_of[node] = static_cast<int>(sides.size());
    sides.push_back(amount);
  }
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> entries, costs;
  const auto add_arc = [&](int from, int to, int cost) {
    for (const auto& [node, entry] : {std::pair{from, -1.0}, std::pair{to, 1.0}}) {
      if (!row_of.contains(node)) continue;
      rows.push_back(row_of[node]);
      entries.push_back(entry);
    }
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
    costs.push_back(cost);
  };
  for (const Edge& edge : problem.edges) {
    add_arc(edge.from, edge.to, edge.cost);
    if (!problem.directed) add_arc(edge.to, edge.from, edge.cost);
  }
  const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), static_cast<int>(costs.size()), static_cast<int>(sides.size()), starts.data(),
                  rows.data(), entries.data(), nullptr, nullptr, costs.data(), sides.data(), sides.data());
  Clp_dual(model.get(), 0);
  if (Clp_status(model.get()) == 1) return std::nullopt;
  EXPECT_EQ(Clp_status(model.get()), 0);
  return Clp_objectiveValue(model.get());
}

void expect_agreement(const json& answer, const std::optional<double>& expected) {
  ASSERT_EQ(answer.at("status"), expected ? "optimal" : "infeasible");
  if (!expected) return;
  EXPECT_NEAR(answer.at("distance").get<double>(), *expected, 1e-7 * (1 + *expected));
}

std::string table_of(const std::map<int, double>& values) {
  std::string text = "id,v\n";
  for (const auto& [node, value] : values) text += fmt::format("n{},{}\n", node, value);
  return text;
}

json by_files(const Problem& problem, const Arguments& more) {
  const TemporaryFolder folder;
  std::string edges = "source,target,price\n";
  for (const Edge& edge : problem.edges) edges += fmt::format("n{},n{},{}\n", edge.from, edge.to, edge.cost);
  Arguments arguments{"w1",
                      "--edges",
                      folder.write("edges.csv", edges),
                      "--mu",
                      folder.write("mu.csv", table_of(problem.mu)),
                      "--gamma",
                      folder.write("gamma.csv", table_of(problem.gamma)),
                      "--cost",
                      "price",
                      "--json",
                      "--quiet"};
  if (problem.directed) arguments.push_back("--directed");
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandResult result = qw(arguments);
  const json answer = json::parse(result.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << result.err;
  if (answer.is_discarded()) return {{"status", "none"}};
  EXPECT_EQ(result.exit_code, answer.at("status") == "infeasible" ? 1 : 0);
  return answer;
}

void expect_files_agree(bool directed) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(fmt::format("problem {}", seed));
    const Problem problem = random_problem(seed, directed);
    std::map<int, double> full, normalized, partial;
    for (int node = 0; node < problem.nodes; ++node) {
      full[node] = at(problem.gamma, node) - at(problem.mu, node);
      normalized[node] =
          at(problem.gamma, node) / sum(problem.gamma) - at(problem.mu, node) / sum(problem.mu);
      if (problem.mu.contains(node) && problem.gamma.contains(node)) partial[node] = full[node];
    }
    expect_agreement(by_files(problem, {"--absent", "zero"}), by_linear_programming(problem, full));
    expect_agreement(by_files(problem, {"--absent", "free"}), by_linear_programming(problem, partial));
    if (directed) continue;  // whether there is a way at all should not hang on the last digit
    expect_agreement(by_files(problem, {"--absent", "zero", "--normalize"}),
                     by_linear_programming(problem, normalized));
  }
}

TEST(W1AgainstClp, UndirectedByFiles) { expect_files_agree(false); }

TEST(W1AgainstClp, DirectedByFiles) { expect_files_agree(true); }

TEST(W1AgainstClp, ByBatch) {
  std::vector<Problem> problems;
  std::string lines;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem& problem = problems.emplace_back(random_problem(100 + seed, seed % 2 == 1));
    json line{{"nodes", problem.nodes}, {"directed", problem.directed}};
    for (const Edge& edge : problem.edges) {
      line["edges"].push_back({edge.from, edge.to});
      line["weights"].push_back(edge.cost);
    }
    for (const auto& [node, value] : problem.mu) {
      line["labelled"].push_back(node);
      line["mu"].push_back(value);
      line["gamma"].push_back(at(problem.gamma, node));
    }
    lines += line.dump() + "\n";
  }
  const TemporaryFolder folder;
  const CommandResult result = qw({"w1", "--batch", folder.write("cases.jsonl", lines)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> answers = split(result.out, '\n');
  ASSERT_EQ(answers.size(), problems.size() + 1);  // the last is empty
  int infeasible = 0;
  for (size_t i = 0; i < problems.size(); ++i) {
    SCOPED_TRACE(fmt::format("line {}", i + 1));
    std::map<int, double> wanted;
    for (const auto& [node, value] : problems[i].mu) wanted[node] = at(problems[i].gamma, node) - value;
    const std::optional<double> expected = by_linear_programming(problems[i], wanted);
    infeasible += !expected;
    expect_agreement(json::parse(answers[i]), expected);
  }
  EXPECT_GT(infeasible, 10);
  EXPECT_LT(infeasible, 150);
}

}  // namespace
}  // namespace qw::test
