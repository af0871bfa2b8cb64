// qw train --dry-run as a person uses it.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace qw {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;

constexpr const char* kGraph = "csbm:nodes=300,degree=6,features=16,classes=3,seed=4";

TEST(DryRun, SaysWhatWouldBeDoneAndLeavesNothing) {
  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path() / "dry";
  const CommandResult result =
      qw({"train", "--data", kGraph, "--solver", "proximal", "--runs", "3", "--epochs", "70", "--out",
          folder.string(), "--threads", "2", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* text :
       {"csbm, gcn, proximal on cpu: 3 runs of at most 70 epochs, 2 at once; 1,283 parameters each",
        "300 nodes, 900 edges, of which ", "graph structure", "flow and its moments", "best state kept",
        "needs about ", " that cpu has; with the data and LibTorch the process will hold "}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(DryRun, HasTheSameInJson) {
  const json plan = json_of({"train", "--data", kGraph, "--model", "gcn", "--solver", "bregman",
                             "--full-flow", "--runs", "3", "--threads", "2", "--dry-run", "--json"});
  EXPECT_EQ(plan.at("nodes"), 300);
  EXPECT_EQ(plan.at("edges"), 900);
  EXPECT_EQ(plan.at("flow_edges"), 900);
  EXPECT_EQ(plan.at("parameters"), 16 * 64 + 64 + 64 * 3 + 3);
  EXPECT_EQ(plan.at("runs_at_once"), 2);
  EXPECT_EQ(plan.at("config").at("request").at("runs"), 3);
  int64_t once = 0, each_run = 0;
  for (const json& item : plan.at("memory")) {
    (item.at("per_run").get<bool>() ? each_run : once) += item.at("bytes").get<int64_t>();
    if (item.at("what") == "flow and its moments") {
      EXPECT_EQ(item.at("bytes"), 900 * 3 * 3 * 4);
    }
  }
  EXPECT_EQ(plan.at("bytes_once"), once);
  EXPECT_EQ(plan.at("bytes_each_run"), each_run);
  EXPECT_EQ(plan.at("bytes"), once + 2 * each_run);
  EXPECT_TRUE(plan.at("fits").get<bool>());
  EXPECT_GT(plan.at("device_bytes"), plan.at("bytes"));
}

// 200,000 nodes, so that LibTorch's own memory is the smaller part.
TEST(DryRun, KnowsThePeakOfTheProcess) {
  const std::string graph = "csbm:nodes=200000,degree=10,features=64,classes=4,seed=1";
  for (const char* model : {"gcn", "gat", "chebnetii"}) {
    const std::vector<std::string> training{"train",    "--data",    graph,         "--model",    model,
                                            "--solver", "bregman",   "--epochs",    "2",          "--runs",
                                            "1",        "--threads", "2",           "--patience", "0",
                                            "--quiet",  "--json",    "--baselines", "none"};
    std::vector<std::string> planning = training;
    planning.push_back("--dry-run");
    const double planned = json_of(planning).at("process_bytes").get<double>();
    const double peak = json_of(training).at("peak_rss_mb").get<double>() * 1024 * 1024;
    EXPECT_NEAR(planned / peak, 1, 0.1)
        << model << ": planned " << planned / 1e6 << " MB, peak " << peak / 1e6;
  }
}

TEST(DryRun, PlansForAGpuThatIsElsewhere) {
  const json plan =
      json_of({"train", "--data", kGraph, "--device", "cuda", "--runs", "20", "--dry-run", "--json"});
  EXPECT_LE(plan.at("runs_at_once"), 16);
  EXPECT_TRUE(plan.contains("device_bytes"));
}

TEST(DryRun, RefusesWhatTrainingWould) {
  expect_refused({"train", "--data", kGraph, "--device", "tpu", "--dry-run"}, 2,
                 "qw: --device 'tpu' is unknown; known: cpu, cuda, cuda:0, ...");
}

}  // namespace
}  // namespace qw
