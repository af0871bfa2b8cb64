// qw train --dry-run over parts: what it says, and whether it comes true.
#include <gmock/gmock.h>

#include "cli/program.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using testing::HasSubstr;

constexpr const char* kSize = "size:nodes=111059956,edges=1615685872,features=128,classes=172,train=0.011";

class PlanParts : public testing::Test {
 protected:
  std::string cut(const std::string& graph, const std::string& parts) const {
    const std::string out = (folder_.path() / ("parts" + parts)).string();
    const CommandResult made =
        test::qw({"data", "partition", graph, "--parts", parts, "--align", "1", "--out", out});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return out;
  }

  test::TemporaryFolder folder_;
};

TEST_F(PlanParts, SaysWhatEachProcessWillHoldAndSend) {
  const std::string parts = cut("csbm:nodes=300,degree=6,features=16,classes=3,seed=4", "3");
  const Arguments command{"train", parts, "--solver", "proximal", "--processes", "2", "--dry-run"};
  const CommandResult result = test::qw(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* text :
       {"csbm, gcn, proximal by 2 processes: 1 run of at most 1000 epochs; 1,283 parameters\n",
        "300 nodes, 900 edges in 3 parts (range)\n", "rows of the halo", "labels of all nodes",
        "memory of process 1", "with LibTorch the process will hold ", " in an epoch\n",
        "an epoch takes about ", "with machines like cpu (--machine): gflops="})
    EXPECT_THAT(result.out, HasSubstr(text));
  Arguments in_json = command;
  in_json.insert(in_json.end(), {"--machine", "h200:bandwidth=8,latency=1", "--json"});
  const json plan = json_of(in_json);
  ASSERT_EQ(plan.at("processes").size(), 2u);
  EXPECT_EQ(plan.at("processes")[1].at("parts"), 2);
  int64_t bytes = 0;
  for (const json& item : plan.at("processes")[1].at("memory")) bytes += item.at("bytes").get<int64_t>();
  EXPECT_EQ(plan.at("processes")[1].at("bytes"), bytes);
  EXPECT_EQ(plan.at("machine").at("bandwidth"), 8);
  EXPECT_NEAR(plan.at("sending_ms").get<double>(),
              plan.at("processes")[1].at("sent_bytes").get<double>() / 1e6, 1e-4);  // the busiest one
  EXPECT_EQ(plan.at("parts").size(), 3u);
}

TEST_F(PlanParts, BytesAreThoseThatAreSent) {
  const std::string parts = cut("csbm:nodes=3000,degree=8,features=16,classes=3,seed=4", "4");
  for (const Arguments& model : {Arguments{"--model", "gcn", "--solver", "proximal"},
                                 Arguments{"--model", "graphsage", "--solver", "badmm"},
                                 Arguments{"--model", "gat", "--solver", "ce", "--metric", "macro_f1"},
                                 Arguments{"--model", "gcn", "--solver", "bregman", "--edge-weights"}}) {
    Arguments counting{"bench",    "scale", parts,      "--processes", "2",
                       "--hidden", "16",    "--epochs", "4",           "--json"};
    Arguments planning{"train", parts, "--processes", "2", "--hidden", "16", "--dry-run", "--json"};
    counting.insert(counting.end(), model.begin(), model.end());
    planning.insert(planning.end(), model.begin(), model.end());
    const double sent = json_of(counting).at("bytes").get<double>();
    const double planned = json_of(planning).at("processes")[0].at("sent_bytes").get<double>();
    EXPECT_NEAR(planned / sent, 1, 0.05) << model[1] << ": planned " << planned << ", sent " << sent;
  }
}

// Large enough that LibTorch's own memory is the smaller part.
TEST_F(PlanParts, KnowsThePeakOfAProcess) {
  const std::string parts = cut("csbm:nodes=200000,degree=10,features=64,classes=4,seed=1", "4");
  for (const Arguments& model :
       {Arguments{"gcn", "proximal"}, Arguments{"graphsage", "ce"}, Arguments{"gat", "bregman"}}) {
    Arguments training{"train",       parts, "--model",  model[0], "--solver", model[1],
                       "--processes", "2",   "--epochs", "2",      "--hidden", "32",
                       "--patience",  "0",   "--quiet",  "--json"};
    if (model[0] == "gat") training.insert(training.end(), {"--heads", "2"});
    const double peak = json_of(training).at("peak_rss_mb").get<double>() * 1024 * 1024;
    training.emplace_back("--dry-run");
    const double planned = json_of(training).at("processes")[0].at("process_bytes").get<double>();
    EXPECT_NEAR(planned / peak, 1, 0.15)
        << model[0] << ": planned " << planned / 1e6 << " MB, peak " << peak / 1e6;
  }
}

TEST(PlanSize, PlansAGraphThatIsNotHere) {
  const json plan =
      json_of({"train", "--data", kSize, "--model", "graphsage", "--layers", "3", "--hidden", "256",
               "--solver", "ce", "--processes", "16", "--machine", "h200", "--dry-run", "--json"});
  ASSERT_EQ(plan.at("processes").size(), 16u);
  EXPECT_EQ(plan.at("parameters"), 2 * 128 * 256 + 256 + 2 * 256 * 256 + 256 + 2 * 256 * 172 + 172);
  EXPECT_EQ(plan.at("nodes"), 111059956);
  EXPECT_GT(plan.at("epoch_ms"), plan.at("computing_ms"));
  EXPECT_GT(plan.at("processes")[3].at("bytes").get<double>(), 111059956 / 16 * 128 * 4.0);
  const CommandResult text =
      test::qw({"train", "--data", kSize, "--hidden", "8", "--processes", "20", "--dry-run"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("in 20 parts (drawn by lot)\n"));
  EXPECT_THAT(text.out, HasSubstr("and 4 more parts\n"));
}

TEST(PlanSize, MistakesAreOneLine) {
  const std::string size = kSize;
  expect_refused({"train", "--data", size}, 2,
                 "qw train: size:... is a graph that is not here; --dry-run plans its training");
  expect_refused({"train", "--data", size, "--split", "stratified", "--dry-run"}, 2,
                 "qw train: a graph of which only the size is known has no split; give train= and val=");
  expect_refused({"train", "--data", size, "--directed", "--dry-run"}, 2,
                 "qw train: --directed reads data, and size:... has none");
  expect_refused({"train", "--data", size, "--preset", "auto", "--dry-run"}, 2,
                 "qw train: --preset auto looks at the data, and size:... has none");
  expect_refused({"train", "--data", size, "--device", "cuda", "--dry-run"}, 2,
                 "qw train: a plan over parts is for the machines of --machine (for GPUs: h200), not for "
                 "--device cuda");
  expect_refused({"train", "--data", "size:nodes=10", "--dry-run"}, 2,
                 "qw: size: give edges, features, classes");
  expect_refused({"train", "--data", "size:nods=10", "--dry-run"}, 2,
                 "qw: size: 'nods' is unknown; did you mean 'nodes'? known: nodes, edges, features, classes, "
                 "directed, train, val, halo");
  expect_refused({"train", "--data", size, "--machine", "gpu", "--dry-run"}, 2,
                 "qw: --machine 'gpu' is unknown; did you mean 'cpu'? known: cpu, h200");
  expect_refused({"train", "--data", "karate", "--machine", "cpu", "--dry-run"}, 2,
                 "qw train: --machine is for --dry-run over parts");
}

}  // namespace
}  // namespace qw
