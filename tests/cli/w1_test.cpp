// qw w1 as a person uses it.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"
#include "qw/transport/wasserstein.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::qw;

std::vector<json> batch(const std::string& lines, int exit_code = 0, const std::string& error = "") {
  const test::TemporaryFolder folder;
  const CommandResult result = qw({"w1", "--batch", folder.write("cases.jsonl", lines)});
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.err, error);
  std::vector<json> answers;
  for (const std::string& line : split(result.out, '\n')) {
    if (!line.empty()) answers.push_back(json::parse(line));
  }
  return answers;
}

class W1BatchGolden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(W1BatchGolden, AnswersEveryCase) {
  const std::filesystem::path path = GetParam() / "transport.json";
  QW_SKIP_WITHOUT(path);
  const json cases = json::parse(read_file(path)).at("cases");
  std::string lines;
  for (const json& each : cases) lines += each.dump() + "\n";
  const std::vector<json> answers = batch(lines);
  ASSERT_EQ(answers.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const json &given = cases[i], &answer = answers[i];
    ASSERT_EQ(answer.at("status") != "infeasible", given.at("feasible").get<bool>());
    if (answer.at("status") == "infeasible") {
      EXPECT_TRUE(answer.at("distance").is_null());
      EXPECT_TRUE(answer.at("component").contains("imbalance"));
      continue;
    }
    const double expected = given.at("distance").get<double>();
    EXPECT_NEAR(answer.at("distance").get<double>(), expected, 1e-9 * std::max(1e-9, expected));
    EXPECT_LE(answer.at("upper").get<double>() - answer.at("lower").get<double>(), 1e-9 * expected);
    std::vector<double> arrived(given.at("nodes").get<size_t>(), 0.0);
    double cost = 0;
    for (size_t e = 0; e < given.at("edges").size(); ++e) {
      const double flow = answer.at("flow")[e].get<double>();
      const size_t arrives = given.at("directed").get<bool>() ? 1 : 0;
      arrived[given.at("edges")[e][arrives].get<size_t>()] += flow;
      arrived[given.at("edges")[e][1 - arrives].get<size_t>()] -= flow;
      cost += std::fabs(flow) * given.at("weights")[e].get<double>();
    }
    EXPECT_NEAR(cost, expected, 1e-9 * (1 + expected));
    for (size_t k = 0; k < given.at("labelled").size(); ++k) {
      const double wanted = given.at("gamma")[k].get<double>() - given.at("mu")[k].get<double>();
      EXPECT_NEAR(arrived[given.at("labelled")[k].get<size_t>()], wanted, 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, W1BatchGolden,
                         testing::Values(test::own_golden_folder(), test::golden_folder()),
                         test::golden_folder_name);

TEST(W1Batch, FlowsAreInTheOrderAndDirectionOfTheEdgesAsGiven) {
  // Edges against the order of the nodes, one twice (the second is cheaper) and a loop.
  const auto answers = batch(
      R"({"nodes":3,"edges":[[2,1],[1,0],[1,0],[0,0]],"weights":[1,5,2,0],"mu":[0,0,1],"gamma":[1,0,0]})"
      "\n");
  EXPECT_EQ(answers[0].at("flow"), json({-1.0, 0, -1.0, 0})) << answers[0];
  EXPECT_EQ(answers[0].at("distance"), 3.0);
}

TEST(W1Batch, ADirectedEdgeCarriesMassFromItsFirstEndToItsSecond) {
  const auto answers =
      batch(R"({"nodes":2,"directed":true,"edges":[[0,1]],"mu":[1,0],"gamma":[0,1]})"
            "\n"
            R"({"nodes":2,"directed":true,"edges":[[0,1]],"mu":[0,1],"gamma":[1,0]})"
            "\n"
            R"({"nodes":3,"directed":true,"edges":[[2,1],[0,2],[1,0]],"mu":[1,0,0],"gamma":[0,1,0]})"
            "\n");
  EXPECT_EQ(answers[0].at("status"), "optimal");
  EXPECT_EQ(answers[0].at("flow"), json({1.0}));
  EXPECT_EQ(answers[1].at("status"), "infeasible");
  EXPECT_EQ(answers[2].at("distance"), 2.0);
  EXPECT_EQ(answers[2].at("flow"), json({1.0, 1.0, 0}));
}

TEST(W1Batch, SeveralColumnsAtOnce) {
  const auto answers = batch(R"({"nodes":2,"edges":[[0,1]],"mu":[[0,1],[1,0]],"gamma":[[1,0],[0,1]]})"
                             "\n");
  ASSERT_EQ(answers[0].at("columns").size(), 2u);
  EXPECT_EQ(answers[0].at("columns")[0].at("flow"), json({1.0}));
  EXPECT_EQ(answers[0].at("columns")[1].at("flow"), json({-1.0}));
}

TEST(W1Batch, ABadLineIsAnsweredAndTheBatchGoesOn) {
  const std::pair<const char*, const char*> bad[] = {
      {"{", "line 1: is not JSON: something is wrong at byte 2"},
      {"[]", "a problem must be a JSON object, this is array"},
      {R"({"edges":[]})", "\"nodes\": is missing"},
      {R"({"nodes":-1,"edges":[]})", "\"nodes\": is -1, not a count from 0 to 2147483646"},
      {R"({"nodes":2,"edges":7})", "\"edges\": must be a list, is number"},
      {R"({"nodes":2,"edges":[[0]]})", "\"edges\": entry 0 is [0], not a pair of nodes"},
      {R"({"nodes":2,"edges":[[0,2]]})", "\"edges\": entry 0 is 2, not a node from 0 to 1"},
      {R"({"nodes":2,"edges":[[0,1]],"weights":[]})", "\"weights\": has 0 entries for 1 edges"},
      {R"({"nodes":2,"edges":[[0,1]],"weights":["x"]})", "\"weights\": entry 0 is \"x\", not a number"},
      {R"({"nodes":2,"edges":[[0,1]],"weights":[-1]})", "\"weights\": entry 0 is -1, not a cost >= 0"},
      {R"({"nodes":2,"edges":[],"directed":1})", "\"directed\": must be true or false"},
      {R"({"nodes":2,"edges":[],"labelled":[5]})", "\"labelled\": entry 0 is 5, not a node from 0 to 1"},
      {R"({"nodes":2,"edges":[],"mu":[1]})", "\"mu\": has 1 entries for 2 nodes, all of them labelled"},
      {R"({"nodes":2,"edges":[],"labelled":[1],"mu":[1],"gamma":[]})",
       "\"gamma\": has 0 entries for 1 labelled nodes"},
      {R"({"nodes":2,"edges":[],"labelled":[1],"mu":[[1,2]],"gamma":[[1]]})",
       "\"gamma\": entry 0 is not a row of 2 numbers"},
      {R"({"nodes":2,"edges":[],"labelled":[1],"mu":[[]],"gamma":[[]]})",
       "\"mu\": a row must have 1 to 1000000 numbers"},
      {R"({"nodes":2,"edges":[],"labelled":[1,1],"mu":[1,1],"gamma":[1,1]})",
       "labelled node 1 is named twice"},
      {R"({"nodes":2,"edges":[[0,1]],"weight":[2],"mu":[1,0],"gamma":[0,1]})",
       "\"weight\": is unknown; did you mean \"weights\"?"},
      {R"({"nodes":2,"edges":[[0,1]],"costs":[2],"mu":[1,0],"gamma":[0,1]})",
       "\"costs\": is unknown; what edges cost is \"weights\""},
  };
  std::string lines;
  for (const auto& each : bad) lines += std::string(each.first) + "\n";
  lines += R"({"nodes":2,"edges":[[0,1]],"mu":[0,1],"gamma":[1,0]})";
  const std::vector<json> answers =
      batch(lines + "\n\n", 1, "qw: 19 of 21 lines were bad: their answers say why\n");
  ASSERT_EQ(answers.size(), std::size(bad) + 1);
  for (size_t i = 0; i < std::size(bad); ++i) {
    EXPECT_EQ(answers[i].at("error"), bad[i].second) << bad[i].first;
    EXPECT_EQ(answers[i].at("line"), i + 1);
  }
  EXPECT_EQ(answers.back().at("status"), "optimal");
}

TEST(W1Batch, FromStandardInputAndFromNowhere) {
  const CommandResult missing = qw({"w1", "--batch", "/nowhere.jsonl"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.err, "qw: /nowhere.jsonl: cannot be read\n");
}

// a - b - c - d with costs; a and d hold and want.
struct Files {
  test::TemporaryFolder folder;
  std::string edges = folder.write("e.csv", "from,to,length\na,b,1\nb,c,2\nc,d,0.5\n");
  std::string mu = folder.write("mu.csv", "id,red,blue\na,1,0\nd,0,0\nb,0,0\nc,0,0\n");
  std::string gamma = folder.write("gamma.csv", "id,red,blue\na,0,0\nb,0,0\nc,0,0\nd,1,0.5\n");
};

TEST(W1Command, ReadsCsvAndPrintsATable) {
  const Files files;
  const CommandResult result =
      qw({"w1", "--edges", files.edges, "--mu", files.mu, "--gamma", files.gamma, "--cost", "length"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::ContainsRegex("red +optimal +3.5 +3.5 +3.5\nblue +infeasible +- +- +-\n"));
  EXPECT_THAT(result.out, testing::EndsWith("\nunit: value x length\n"));
  EXPECT_EQ(result.err,
            "qw: blue: infeasible: mu sums to 0 and gamma to 0.5, and every node is bound; make the sums "
            "equal, or let --labelled leave nodes free\n");
}

TEST(W1Command, TakesTablesWithoutAHeaderAndAnswersOneProblemAsABatchDoes) {
  const Files files;
  const std::string mu = files.folder.write("m.csv", "a,1\nd,0\n"),
                    gamma = files.folder.write("g.csv", "d,1\na,0\n");
  const CommandResult result =
      qw({"w1", "--edges", files.edges, "--mu", mu, "--gamma", gamma, "--absent", "free", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document.at("status"), "optimal");
  EXPECT_EQ(document.at("distance"), 2.0);
  EXPECT_EQ(document.at("name"), "1");
  EXPECT_EQ(document.at("flow"), json({-1.0, 0, -1.0}));
  EXPECT_EQ(document.at("potential").size(), 4u);
}

TEST(W1Command, WritesFlowAndPotential) {
  const Files files;
  const std::string flow = files.folder.path() / "flow.csv",
                    potential = files.folder.path() / "potential.csv";
  const CommandResult result =
      qw({"w1", "--edges", files.edges, "--mu", files.mu, "--gamma", files.gamma, "--labelled", "a,d",
          "--edge-cost", "length", "--flow", flow, "--potential", potential, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document.at("columns")[0].at("name"), "red");
  EXPECT_EQ(document.at("columns")[0].at("distance"), 1.5);  // to b and from c
  EXPECT_EQ(document.at("columns")[1].at("distance"), 0.25);
  EXPECT_EQ(read_file(flow), "source,target,red,blue\nb,a,-1,0\nc,b,0,0\nd,c,-1,-0.5\n");
  EXPECT_THAT(read_file(potential), testing::StartsWith("id,red,blue\na,-1,"));
}

TEST(W1Command, KeepsItsTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  const test::TemporaryFolder folder;
  std::string mu = "id,v\n", gamma = "id,v\n";
  for (int i = 0; i < 20000; ++i) {
    mu += std::to_string(i) + "," + std::to_string((i * 7919) % 1000) + "\n";
    gamma += std::to_string(i) + "," + std::to_string((i * 104729) % 1000) + "\n";
  }
  const CommandResult result =
      qw({"w1", "csbm:nodes=20000,degree=20", "--mu", folder.write("mu.csv", mu), "--gamma",
          folder.write("gamma.csv", gamma), "--time-limit", "0.001", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json column = json::parse(result.out);
  EXPECT_EQ(column.at("status"), "time_limit");
  EXPECT_LE(column.at("lower").get<double>(), column.at("upper").get<double>());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));  // and not hours
  const CommandResult aloud = qw({"w1", "csbm:nodes=20000,degree=20", "--mu", folder.path() / "mu.csv",
                                  "--gamma", folder.path() / "gamma.csv", "--time-limit", "0.001"});
  EXPECT_EQ(aloud.exit_code, 0) << aloud.err;
  EXPECT_THAT(aloud.err,
              testing::ContainsRegex("v: not solved to the end: the distance is .*; raise --time-limit"));
}

TEST(W1Command, SaysThatASolverStoppedAboveTheGap) {
  const test::TemporaryFolder folder;
  std::string mu = "id,v\n", gamma = "id,v\n";
  for (int i = 0; i < 2000; ++i) {
    mu += std::to_string(i) + "," + std::to_string((i * 7919) % 1000) + "\n";
    gamma += std::to_string(i) + "," + std::to_string((i * 104729) % 1000) + "\n";
  }
  const CommandResult result = qw({"w1", "csbm:nodes=2000,degree=20", "--mu", folder.write("mu.csv", mu),
                                   "--gamma", folder.write("gamma.csv", gamma), "--solver", "primal-dual"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::HasSubstr("approximate"));
  EXPECT_THAT(result.out,
              testing::EndsWith("\nunit: value x edges; every edge costs 1 (--cost names a column "
                                "of costs)\n"));
  EXPECT_THAT(result.err,
              testing::ContainsRegex("v: not solved to the end: the distance is between .* and .*; "
                                     "--solver auto goes on to the exact distance\n"));
}

TEST(W1Command, AnEmptyShellVariableIsNoRequestForTheDefault) {
  const Files files;
  for (const char* option : {"--labelled", "--cost", "--flow", "--potential"}) {
    test::expect_refused({"w1", "--edges", files.edges, "--mu", files.mu, "--gamma", files.gamma, option, ""},
                         2, std::string("qw w1: ") + option + " is empty");
  }
}

TEST(W1Command, ANameOfANodeAndOfAFileIsNotGuessed) {
  const test::TemporaryFolder folder;
  const std::string node = folder.write("ids", "b\n");
  const std::string values = folder.write("v.csv", "id,v\n" + node + ",1\nb,0\n");
  const std::string edges = folder.write("e.csv", "from,to\n" + node + ",b\n");
  const CommandResult result =
      qw({"w1", "--edges", edges, "--mu", values, "--gamma", values, "--labelled", node});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::HasSubstr("is a node and a file; write ./" + node + " for the file"));
}

TEST(W1Command, WritesItsFilesThoughAColumnIsInfeasible) {
  const Files files;
  const std::string flow = files.folder.path() / "flow.csv";
  const CommandResult result =
      qw({"w1", "--edges", files.edges, "--mu", files.mu, "--gamma", files.gamma, "--flow", flow, "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(read_file(flow), "source,target,red,blue\nb,a,-1,\nc,b,-1,\nd,c,-1,\n");
  const json document = json::parse(result.out);
  EXPECT_EQ(document.at("columns")[0].at("distance"), 3.0);
  EXPECT_EQ(document.at("columns")[1].at("status"), "infeasible");
  EXPECT_THAT(document.at("columns")[1].at("reason"), testing::StartsWith("infeasible: mu sums to 0"));
}

TEST(W1Command, SaysWhyForTheFirstColumnsOnly) {
  const Files files;
  const std::string mu = files.folder.write("m.csv", "a,1,1,1,1,1,1,1\n"),
                    gamma = files.folder.write("g.csv", "d,2,2,2,2,2,2,2\n");
  const CommandResult result =
      qw({"w1", "--edges", files.edges, "--mu", mu, "--gamma", gamma, "--absent", "zero", "--quiet"});
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<std::string> lines = split(result.err, '\n');
  ASSERT_EQ(lines.size(), 7u) << result.err;  // the last is empty
  EXPECT_THAT(lines[0], testing::StartsWith("qw: 1: infeasible: mu sums to 1 and gamma to 2"));
  EXPECT_THAT(lines[4], testing::StartsWith("qw: 5: infeasible"));
  EXPECT_EQ(lines[5], "qw: 2 more columns are infeasible");
}

}  // namespace
}  // namespace qw
