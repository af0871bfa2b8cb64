// qw data partition, as a user calls it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "core/text.h"
#include "program.h"
#include "qw/data/make_partition.h"

namespace qw::test {
namespace {

constexpr const char* kGraph = "csbm:nodes=600,degree=6,features=3,classes=4";

TEST(PartitionCommand, ReportsBalanceCutAndHalo) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "p").string();
  const auto json =
      json_of({"data", "partition", kGraph, "--parts", "3", "--align", "100", "--out", out, "--json"});
  EXPECT_EQ(json["nodes"], 600);
  EXPECT_EQ(json["edges"], 1800);
  ASSERT_EQ(json["parts"].size(), 3u);
  int64_t halo = 0, cut = 0, held = 0;
  for (const auto& part : json["parts"]) {
    EXPECT_EQ(part["nodes"], 200);
    halo += part["halo"].get<int64_t>();
    cut += part["cut_edges"].get<int64_t>();
    held += part["edges"].get<int64_t>();
  }
  EXPECT_EQ(json["halo"], halo);
  EXPECT_EQ(2 * json["cut_edges"].get<int64_t>(), cut);
  EXPECT_EQ(json["cut_share"].get<double>(), json["cut_edges"].get<double>() / 1800);
  EXPECT_EQ(held - json["cut_edges"].get<int64_t>(), 1800);
  EXPECT_EQ(json["node_imbalance"], 1.0);
  EXPECT_EQ(json_of({"data", "info", out, "--json"}), json);
}

TEST(PartitionCommand, InfoSaysWhatItIs) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "p").string();
  const CommandResult made =
      qw({"data", "partition", kGraph, "--parts", "2", "--align", "300", "--out", out});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, testing::StartsWith("csbm in 2 parts (range, blocks of 300)\n"));
  EXPECT_EQ(qw({"data", "info", out}).out, made.out);
  expect_refused({"data", "info", out, "--directed"}, 2,
                 "qw: --directed says how to read data, but " + in_quotes(out) +
                     " is a partition: it was read when it was cut");
}

TEST(PartitionCommand, ConvertsBackToTheGraph) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  for (const char* method : {"range", "metis"}) {
    if (std::string(method) == "metis" && !has_metis()) continue;
    EXPECT_EQ(qw({"data", "partition", kGraph, "--parts", "4", "--method", method, "--out", path(method)})
                  .exit_code,
              0);
    EXPECT_EQ(qw({"data", "convert", path(method), "--out", path("joined.npz")}).exit_code, 0);
    EXPECT_EQ(qw({"data", "convert", kGraph, "--out", path("whole.npz")}).exit_code, 0);
    EXPECT_EQ(run_command("/usr/bin/cmp", {path("joined.npz"), path("whole.npz")}).exit_code, 0) << method;
  }
}

TEST(PartitionCommand, FewBlocksAreFewParts) {
  const TemporaryFolder folder;
  const CommandResult result =
      qw({"data", "partition", kGraph, "--parts", "4", "--out", (folder.path() / "p").string()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "csbm: 600 nodes are 1 block of 4096: 1 part instead of 4; a smaller --align makes more\n");
}

TEST(PartitionCommand, BadRequests) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "p").string();
  expect_refused({"data", "partition", kGraph, "--out", out}, 2, "qw data partition: --parts P is missing");
  expect_refused({"data", "partition", kGraph, "--parts", "2"}, 2, "qw data partition: --out DIR is missing");
  expect_refused({"data", "partition", kGraph, "--parts", "601", "--out", out}, 2,
                 "qw: --parts 601 are more than the 600 nodes of the graph");
  expect_refused(
      {"data", "partition", kGraph, "--parts", "2", "--method", "range", "--seed", "4", "--out", out}, 2,
      "qw: --seed is for --method metis; ranges have none");
}

// Runs the program and returns the most memory that it held, in bytes.
int64_t peak_memory(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), QW_PROGRAM);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, 1);
    ::execv(QW_PROGRAM, argv.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

// Six million edges take 48 bytes each and more when they are loaded.
TEST(PartitionCommand, AStreamIsNotHeldInMemory) {
  if (run_command("/bin/sh", {"-c", "exec grep -q __asan_init " QW_PROGRAM}).exit_code == 0)
    GTEST_SKIP() << "memory is not measured: with sanitizers";
  const TemporaryFolder folder;
  const std::string graph = "csbm:nodes=60000,degree=200,features=2,classes=3";
  const auto peak = [&](const std::string& stream, const std::string& out) {
    std::vector<std::string> arguments = {"data",    "partition", graph,
                                          "--parts", "4",         "--stream",
                                          stream,    "--out",     (folder.path() / out).string()};
    if (stream == "yes") arguments.insert(arguments.end(), {"--memory", "8"});
    return peak_memory(arguments);
  };
  constexpr int64_t kMebibyte = 1 << 20;
  EXPECT_LT(peak("yes", "stream"), 128 * kMebibyte);
  EXPECT_GT(peak("no", "memory"), 200 * kMebibyte);
  EXPECT_EQ(run_command("/usr/bin/diff",
                        {"-r", (folder.path() / "stream").string(), (folder.path() / "memory").string()})
                .exit_code,
            0);
}

}  // namespace
}  // namespace qw::test
