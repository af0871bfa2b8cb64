// What `qw w1` says when numbers, paths or patience are not what they should be.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "core/file.h"
#include "core/text.h"

namespace qw {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::qw;
using testing::HasSubstr;

CommandResult run_batch(const std::string& lines) {
  const test::TemporaryFolder folder;
  return qw({"w1", "--batch", folder.write("cases.jsonl", lines)});
}

std::vector<json> answers_of(const CommandResult& result) {
  std::vector<json> answers;
  for (const std::string& line : split(result.out, '\n')) {
    if (!line.empty()) answers.push_back(json::parse(line));
  }
  return answers;
}

TEST(W1Truth, CostsOfSixHundredOrdersOfMagnitudeAreSolved) {
  const CommandResult result = run_batch(
      R"({"nodes":4,"edges":[[0,1],[1,2],[2,3]],"weights":[1e300,1,1e-300],"mu":[0,3,0,0],"gamma":[0,0,0,3]})");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = answers_of(result).at(0);
  EXPECT_EQ(answer.at("status"), "optimal");
  EXPECT_EQ(answer.at("lower"), 3);
  EXPECT_EQ(answer.at("upper"), 3);
}

TEST(W1Truth, AnIntervalThatStaysOpenIsApproximate) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "from,to,c\na,b,1e-300\nb,c,1\nc,d,1e300\n");
  const std::string mu = folder.write("mu.csv", "id,v\na,1e300\nb,0\nc,1e-300\nd,0\n");
  const std::string gamma = folder.write("g.csv", "id,v\na,0\nb,1e300\nc,0\nd,1e-300\n");
  const std::vector<std::string> arguments{"w1",      "--edges", edges,    "--mu", mu,
                                           "--gamma", gamma,     "--cost", "c"};
  const CommandResult result = qw(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("v +approximate +2 +"));
  EXPECT_THAT(result.err,
              testing::ContainsRegex("v: not solved to the end: the distance is between .* and 2; costs or "
                                     "values differ by too many orders of magnitude to say more\n"));
}

TEST(W1Truth, ADistanceBeyondTheLargestNumberIsSaidToBe) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "from,to,c\na,b,1e300\n");
  const std::string mu = folder.write("mu.csv", "id,v\na,1e300\nb,0\n");
  const std::string gamma = folder.write("g.csv", "id,v\na,0\nb,1e300\n");
  const CommandResult result = qw({"w1", "--edges", edges, "--mu", mu, "--gamma", gamma, "--cost", "c"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("v +approximate +- +"));
  EXPECT_THAT(
      result.err,
      HasSubstr("v: not solved to the end: the distance is beyond the largest number; scale the costs "
                "or values down\n"));
}

TEST(W1Truth, ValuesThatOverflowWhenSummedAreNamed) {
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "from,to\na,b\n");
  const std::string mu = folder.write("mu.csv", "id,v,w\na,1,1.7e308\nb,0,0\n");
  const std::string gamma = folder.write("g.csv", "id,v,w\na,0,0\nb,1,1.7e308\n");
  test::expect_refused({"w1", "--edges", edges, "--mu", mu, "--gamma", gamma}, 1,
                       "qw: column 'w': the values of --mu and --gamma are too large: the sum of their "
                       "magnitudes overflows; divide both by the same number");
}

TEST(W1Truth, NothingToMoveCostsNothing) {
  const CommandResult result = run_batch(R"({"nodes":2,"edges":[[0,1]],"mu":[0,0],"gamma":[0,0]})"
                                         "\n"
                                         R"({"nodes":2,"edges":[[0,1]],"mu":[5e-324,0],"gamma":[0,5e-324]})"
                                         "\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> answers = answers_of(result);
  EXPECT_EQ(answers.at(0).at("distance"), 0);
  EXPECT_EQ(answers.at(1).at("distance").get<double>(), 5e-324);
  for (const json& answer : answers) EXPECT_EQ(answer.at("status"), "optimal");
}

TEST(W1Truth, NumbersThatAreNoneAreOneClearLineEach) {
  const std::pair<const char*, const char*> bad[] = {
      {R"({"nodes":2,"edges":[[0,1]],"mu":[1.7e308,0],"gamma":[0,1.7e308]})",
       "the values of column 0 are too large: the sum of their magnitudes overflows"},
      {R"({"nodes":2,"edges":[[0,1]],"mu":[NaN,0],"gamma":[0,1]})",
       "line 2: is not JSON: something is wrong at byte 3"},
      {R"({"nodes":2,"edges":[[0,1]],"mu":[1e999,0],"gamma":[0,1]})",
       "line 3: is not JSON: a number is out of range"},
      {R"({"nodes":2,"edges":[[0,1]],"mu":[null,0],"gamma":[0,1]})", "\"mu\": entry 0 is null, not a number"},
  };
  std::string lines;
  for (const auto& each : bad) lines += std::string(each.first) + "\n";
  const CommandResult result = run_batch(lines);
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> answers = answers_of(result);
  ASSERT_EQ(answers.size(), std::size(bad));
  for (size_t i = 0; i < std::size(bad); ++i) {  // libraries differ in the last digit of the byte
    EXPECT_TRUE(answers[i].at("error").get<std::string>().starts_with(bad[i].second)) << answers[i];
  }
}

TEST(W1Truth, AGraphOfSelfLoopsHasAFlowForEveryEdge) {
  const CommandResult result =
      run_batch(R"({"nodes":2,"edges":[[0,0],[1,1],[1,1]],"mu":[1,2],"gamma":[1,2]})");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(answers_of(result).at(0).at("flow"), json({0, 0, 0}));
  const test::TemporaryFolder folder;
  const std::string edges = folder.write("e.csv", "from,to\na,a\nb,b\n");
  const std::string values = folder.write("v.csv", "id,v\na,1\nb,2\n");
  const std::string flow = folder.path() / "flow.csv";
  const json kept = test::json_of({"w1", "--edges", edges, "--self-loops", "keep", "--mu", values, "--gamma",
                                   values, "--flow", flow, "--json", "--quiet"});
  EXPECT_EQ(kept.at("flow"), json({0, 0}));
  EXPECT_EQ(read_file(flow), "source,target,v\na,a,0\nb,b,0\n");
}

TEST(W1Truth, ALineThatIsNestedTooDeepLosesOnlyItself) {
  const std::string good = R"({"nodes":2,"edges":[[0,1]],"mu":[0,1],"gamma":[1,0]})";
  for (const size_t depth : {101, 60'000, 100'000}) {
    const CommandResult result =
        run_batch(good + "\n" + std::string(depth, '[') + "\n{\"a\":" + std::string(depth, '[') +
                  std::string(depth, ']') + "}\n" + good);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "qw: 2 of 4 lines were bad: their answers say why\n");
    const std::vector<json> answers = answers_of(result);
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers[0].at("status"), "optimal");
    EXPECT_EQ(answers[1].at("error"),
              "line 2: is not JSON of ours: nested deeper than 100 levels at byte 100");
    EXPECT_EQ(answers[2].at("line"), 3);
    EXPECT_EQ(answers[3].at("status"), "optimal");
  }
}

TEST(W1Truth, ALineThatAsksForAllMemoryLosesOnlyItself) {
  const CommandResult result =
      run_batch(R"({"nodes":2147483646,"edges":[],"labelled":[0],"mu":[[0,0,0,0]],"gamma":[[0,0,0,0]]})");
  const json answer = answers_of(result).at(0);
  if (!answer.contains("error")) GTEST_SKIP() << "this machine has the memory";
  EXPECT_THAT(
      answer.at("error").get<std::string>(),
      testing::ContainsRegex("^\"nodes\": is 2147483646, which takes 353 GB of memory; a line may take a "
                             "quarter of the .* GB of this machine$"));
}

TEST(W1Truth, MessagesShowOnlyTheBeginningOfLongValues) {
  const CommandResult result =
      run_batch(R"({"nodes":2,"edges":[")" + std::string(10'000, 'x') + R"("],"mu":[0,1],"gamma":[1,0]})");
  const std::string message = answers_of(result).at(0).at("error");
  EXPECT_EQ(message, "\"edges\": entry 0 is \"" + std::string(39, 'x') + "..., not a pair of nodes");
}

TEST(W1Truth, AFolderThatIsNotThereIsNamedBeforeTheWork) {
  const test::TemporaryFolder folder;
  const std::string missing = folder.path() / "typo" / "f.csv";
  for (const std::string option : {"--flow", "--potential"}) {
    // The edges are not even looked for.
    test::expect_refused({"w1", "--edges", "nowhere.csv", "--mu", "m", "--gamma", "g", option, missing}, 1,
                         "qw: " + option + " " + missing + ": there is no folder " +
                             (folder.path() / "typo").string() + "; make it, or name another");
    test::expect_refused({"w1", "--edges", "nowhere.csv", "--mu", "m", "--gamma", "g", option, folder.path()},
                         1, "qw: " + option + " " + folder.path().string() + ": is a folder; name a file");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "typo"));
}

// A problem of minutes, whose first second is spent on reading it.
TEST(W1Truth, CtrlCPrintsTheBoundsKnownSoFar) {
  const test::TemporaryFolder folder;
  constexpr int kNodes = 60'000;
  std::string mu = "id,v\n", gamma = "id,v\n";
  for (int i = 0; i < kNodes; ++i) {
    mu += std::to_string(i) + "," + std::to_string((i * 7919LL) % 1000) + "\n";
    gamma += std::to_string(i) + "," + std::to_string(((kNodes - 1 - i) * 7919LL) % 1000) + "\n";
  }
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  const std::string mu_file = folder.write("mu.csv", mu), gamma_file = folder.write("gamma.csv", gamma);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (std::freopen(out.c_str(), "w", stdout) == nullptr ||
        std::freopen(err.c_str(), "w", stderr) == nullptr)
      _exit(99);
    execl(QW_PROGRAM, "qw", "w1", "csbm:nodes=60000,degree=30", "--mu", mu_file.c_str(), "--gamma",
          gamma_file.c_str(), "--json", "--solver", "network-simplex", static_cast<char*>(nullptr));
    _exit(98);
  }
  // A signal that comes while the files are read ends the program as always, so it is not sent before the
  // program has said that it solves.
  const auto solves = [&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigCgt:")) return (std::stoull(line.substr(7), nullptr, 16) & 2) != 0;
    }
    return false;
  };
  for (int i = 0; i < 12'000 && !solves() && waitpid(child, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  const json answer = json::parse(read_file(out));
  if (answer.at("status") == "optimal") GTEST_SKIP() << "it was solved too quickly";
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(answer.at("status"), "cancelled");
  EXPECT_LE(answer.at("lower").get<double>(), answer.at("upper").get<double>());
  EXPECT_THAT(read_file(err), HasSubstr("v: not solved to the end: the distance is between "));
  EXPECT_THAT(read_file(err),
              testing::EndsWith("qw: interrupted: 1 of 1 columns are not solved to the end\n"));
}

}  // namespace
}  // namespace qw
