// qw train, predict, eval and bench as a person uses them.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/program.h"
#include "core/file.h"
#include "qw/core/version.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::CommandResult;
using test::expect_refused;
using test::json_of;
using test::qw;

constexpr const char* kGraph = "csbm:nodes=300,degree=6,features=16,classes=3,seed=4";

Arguments with(Arguments base, const Arguments& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

TEST(TrainCommand, PrintsWhatScriptsRelyOn) {
  const json result = json_of({"train", "--data", kGraph, "--model", "gcn", "--solver", "bregman", "--lambda",
                               "10", "--runs", "3", "--epochs", "20", "--json", "--quiet"});
  for (const char* part : {"train", "val", "test"}) {
    const json& accuracy = result.at(part).at("accuracy");
    EXPECT_EQ(accuracy.at("runs").size(), 3);
    double sum = 0;
    for (const json& run : accuracy.at("runs")) sum += run.get<double>();
    EXPECT_NEAR(accuracy.at("mean").get<double>(), sum / 3, 1e-12);
    EXPECT_TRUE(accuracy.contains("std") && accuracy.contains("ci95"));
  }
  for (const char* field : {"config", "epochs", "step_ms", "peak_rss_mb", "flow"}) {
    EXPECT_TRUE(result.contains(field)) << field;
  }
  EXPECT_EQ(result.at("config").at("learn").at("lambda"), 10.0);
  EXPECT_EQ(result.at("epochs"), json({20, 20, 20}));
  for (const char* field : {"l1", "nonzeros", "quantiles"}) {
    EXPECT_TRUE(result.at("flow")[0].contains(field)) << field;
  }
}

TEST(TrainCommand, OptionsAreThoseThatScriptsUse) {
  const std::string help = qw({"train", "--help"}).out;
  for (const char* option : {"--model",        "--solver",
                             "--lambda",       "--reduction",
                             "--lr",           "--weight-decay",
                             "--filter-lr",    "--filter-weight-decay",
                             "--flow-lr",      "--flow-weight-decay",
                             "--edge-weights", "--dual",
                             "--inner-steps",  "--hidden",
                             "--dropout",      "--dprate",
                             "--heads",        "--k",
                             "--alpha",        "--epochs",
                             "--patience",     "--runs",
                             "--seed",         "--split",
                             "--device",       "--threads",
                             "--out",          "--resume",
                             "--json"}) {
    EXPECT_NE(help.find(option), std::string::npos) << option;
  }
}

TEST(TrainCommand, DevicesThatAreNotHereAreRefused) {
  if (build_info().cuda) {
    const CommandResult result = qw({"train", "--data", "karate", "--device", "cuda:99"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, testing::HasSubstr("qw: --device cuda:99: this machine has "));
    return;
  }
  for (const std::string device : {"cuda", "cuda:1"}) {
    expect_refused({"train", "--data", "karate", "--device", device}, 1,
                   "qw: --device " + device +
                       ": this qw was built without CUDA; build it with the preset cuda where LibTorch has "
                       "it, or use --device cpu");
  }
}

TEST(TrainCommand, UsageErrorsAreOneLine) {
  expect_refused(
      {"train", "--data", "karate", "--model", "gnc"}, 2,
      "qw train: --model 'gnc' is unknown; did you mean 'gcn'? known: appnp, bernnet, chebnetii, gat, "
      "gcn, gcn-lpa, gin, graphsage, mlp, none");
  expect_refused({"train", "--data", "karate", "--dropout", "1.5"}, 2,
                 "qw: model: --dropout '1.5' is not a number from 0 to 0.999");
  expect_refused({"train", "--data", "karate", "--device", "gpu"}, 2,
                 "qw: --device 'gpu' is unknown; known: cpu, cuda, cuda:0, ...");
  expect_refused({"train", "--data", "karate", "--solver", "mse"}, 2,
                 "qw: solver mse is for values; the target has classes, use ce");
  expect_refused({"train", "--data", "karate", "--solver", "ce", "--edge-weights"}, 2,
                 "qw: --edge-weights are predicted from the flow, which solver ce has not; use bregman");
  expect_refused({"train", "--data", "karate", "--modle", "gcn"}, 2,
                 "qw: option '--modle' is unknown; did you mean '--model'? (see qw train --help)");
  expect_refused({"predict", "/nowhere"}, 1,
                 "qw: /nowhere/config.json: cannot read: No such file or directory");
}

TEST(TrainCommand, AFlagCanTakeBackWhatAPresetSays) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("presets.json", R"({"karate/gcn/qw": {"data": "karate", "options":
      {"model": "gcn", "solver": "bregman", "edge_weights": true, "epochs": 2}, "found_by": "a test"}})");
  const auto edge_weights = [&](const Arguments& more) {
    return json_of(with({"train", "--preset", "karate/gcn/qw", "--presets", file, "--split", "random",
                         "--json", "--quiet"},
                        more))
        .at("config")
        .at("learn")
        .at("edge_weights");
  };
  EXPECT_EQ(edge_weights({}), true);
  EXPECT_EQ(edge_weights({"--edge-weights"}), true);
  EXPECT_EQ(edge_weights({"--edge-weights=false"}), false);
  EXPECT_EQ(edge_weights({"--edge-weights", "--edge-weights=no"}), false);
  expect_refused({"train", "karate", "--edge-weights=maybe"}, 2,
                 "qw train: --edge-weights 'maybe' is not true or false");
}

TEST(TrainCommand, PresetsAreForTrainingsThatBegin) {
  for (const char* preset : {"auto", "cora/gcn/qw"}) {
    expect_refused({"train", "--resume", "/nowhere", "--preset", preset}, 2,
                   "qw train: --preset does not go with --resume: a training goes on as it began");
    expect_refused({"train", "--refit-flow", "/nowhere", "--preset", preset}, 2,
                   "qw train: --preset does not go with --refit-flow: its network, its parts and its scales "
                   "stay as they were learned");
  }
}

TEST(TrainCommand, EvalAndPredictGiveTheSameAgain) {
  const test::TemporaryFolder folder;
  const std::string out = folder.path() / "run";
  const json trained = json_of({"train", "--data", kGraph, "--solver", "bregman", "--edge-weights",
                                "--epochs", "15", "--out", out, "--json", "--quiet"});
  const json evaluated = json_of({"eval", out, "--json", "--quiet"});
  for (const char* part : {"train", "val", "test"}) {
    EXPECT_EQ(evaluated.at(part).at("accuracy"), trained.at(part).at("accuracy").at("runs")[0]) << part;
  }
  const std::string again = folder.path() / "again.csv";
  EXPECT_EQ(qw({"predict", out, "--out", again, "--quiet"}).exit_code, 0);
  EXPECT_EQ(read_file(again), read_file(out + "/run-0/predictions.csv"));
  expect_refused({"train", "--data", kGraph, "--solver", "ce", "--out", out, "--quiet"}, 1,
                 "qw: " + out +
                     " was made by another request; choose another --out, or go on with it by "
                     "--resume " +
                     out);
}

TEST(TrainCommand, NodesThatAreNewArePredictedByTheNetworkAlone) {
  const test::TemporaryFolder folder;
  const auto edges = folder.write("edges.csv", "from,to\na,b\nb,c\nc,d\nd,e\ne,f\nf,a\na,c\n");
  const auto nodes =
      folder.write("nodes.csv", "id,x,team\na,1,red\nb,2,red\nc,3,blue\nd,4,blue\ne,5,red\nf,6,blue\n");
  const auto grown_edges =
      folder.write("grown_edges.csv", "from,to\nnew,b\nb,c\na,b\nc,d\nd,e\ne,f\nf,a\na,c\n");
  const auto grown_nodes = folder.write(
      "grown_nodes.csv", "id,x,team\nnew,9,red\na,1,red\nb,2,red\nc,3,blue\nd,4,blue\ne,5,red\nf,6,blue\n");
  const std::string out = folder.path() / "run";
  const CommandResult trained = qw({"train", "--edges", edges, "--nodes", nodes, "--id", "id", "--target",
                                    "team", "--solver", "bregman", "--epochs", "5", "--out", out, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const CommandResult grown =
      qw({"predict", out, "--edges", grown_edges, "--nodes", grown_nodes, "--id", "id", "--target", "team"});
  ASSERT_EQ(grown.exit_code, 0) << grown.err;
  EXPECT_NE(grown.err.find("1 node is new: predicted by the network alone, without transport"),
            std::string::npos)
      << grown.err;
  EXPECT_NE(grown.out.find("new,"), std::string::npos);
  EXPECT_THAT(grown.out, testing::ContainsRegex("\nnew,.*,red,new,.*,0,0\n"));
}

TEST(TrainCommand, RefitsTheFlowToLabelsThatChanged) {
  const test::TemporaryFolder folder;
  const auto edges = folder.write("edges.csv", "from,to\na,b\nb,c\nc,d\nd,e\ne,f\nf,a\na,c\n");
  const auto table = [&](const char* name, const char* team_of_a) {
    return folder.write(
        name, std::string("id,x,team,part\na,1,") + team_of_a +
                  ",train\nb,2,red,test\nc,3,blue,train\nd,4,blue,val\ne,5,red,train\nf,6,blue,test\n");
  };
  const std::string first = folder.path() / "first", second = folder.path() / "second";
  const auto data = [&](const std::filesystem::path& nodes) {
    return Arguments{"train", "--edges",  edges,  "--nodes",        nodes,  "--id",
                     "id",    "--target", "team", "--split-column", "part", "--quiet"};
  };
  ASSERT_EQ(qw(with(data(table("nodes.csv", "red")),
                    {"--solver", "ce", "--hidden", "8", "--epochs", "5", "--out", first}))
                .exit_code,
            0);
  const json refitted =
      json_of({"train", "--edges", edges, "--nodes", table("changed.csv", "blue"), "--refit-flow", first,
               "--solver", "exact", "--out", second, "--json", "--quiet"});
  EXPECT_EQ(refitted.at("config").at("model_options").at("hidden"), 8);  // as it was there
  EXPECT_EQ(refitted.at("config").at("learn").at("solver"), "exact");
  EXPECT_EQ(refitted.at("train").at("accuracy").at("mean"), 1.0);
  EXPECT_EQ(read_file(second + "/run-0/model.safetensors"), read_file(first + "/run-0/model.safetensors"));
  EXPECT_NE(read_file(second + "/run-0/predictions.csv").find("\na,blue,"), std::string::npos);
  const json by_default = json_of({"train", "--refit-flow", first, "--json", "--quiet"});
  EXPECT_EQ(by_default.at("config").at("learn").at("solver"), "proximal");
  expect_refused({"train", "--refit-flow", "/nowhere"}, 1,
                 "qw: /nowhere/config.json: cannot read: No such file or directory");
}

// One layer, y = X W^T + b: the products for y and for the gradient of W have 2 N D C flops each, the bias
// and its gradient 3 N C each, the loss 8 for each score of a training node, Adam 12 for each parameter. Both
// products read X; everything else is small beside it.
TEST(TrainCommand, PasswordsInAddressesAreNotKept) {
  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "x://ada:sec@ret@h").string();
  EXPECT_EQ(qw({"train", "karate", "--epochs", "1", "--quiet", "--out", out}).exit_code, 0);
  const std::string command =
      nlohmann::json::parse(read_file(out + "/schema.json")).at("command").get<std::string>();
  EXPECT_THAT(command, testing::EndsWith("x://ada@h"));
}

TEST(BenchCommand, CountsTheWorkOfALayer) {
  constexpr int64_t kNodes = 600, kInputs = 200, kClasses = 3, kTrain = 360, kSteps = 3;
  const auto begin = std::chrono::steady_clock::now();
  const json step = json_of({"bench", "step", "--data", "csbm:nodes=600,degree=6,features=200,classes=3",
                             "--model", "mlp", "--solver", "ce", "--layers", "1", "--dropout", "0", "--steps",
                             std::to_string(kSteps), "--json"});
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(step.at("steps"), kSteps);
  EXPECT_EQ(step.at("flops"), 4 * kNodes * kInputs * kClasses + 6 * kNodes * kClasses +
                                  8 * kTrain * kClasses + 12 * (kInputs + 1) * kClasses);
  constexpr double kFeatureBytes = kNodes * kInputs * sizeof(float);
  EXPECT_GE(step.at("bytes").get<double>(), 2 * kFeatureBytes);
  EXPECT_LE(step.at("bytes").get<double>(), 2.2 * kFeatureBytes);
  EXPECT_GE(step.at("peak_rss_mb").get<double>(), 2 * kFeatureBytes / 1e6);
  const json& times = step.at("step_ms");
  EXPECT_LE(times.at("min").get<double>(), times.at("median").get<double>());
  EXPECT_LE(times.at("median").get<double>(), times.at("p90").get<double>());
  EXPECT_LE(times.at("min").get<double>() * kSteps, passed.count());
}

TEST(BenchCommand, ThreadsAreMeasuredUpToTheDefault) {
  const json document = json_of({"bench", "threads", "--data", "csbm:nodes=300,degree=6", "--model", "mlp",
                                 "--steps", "2", "--threads", "3", "--json"});
  EXPECT_EQ(document.at("default"), 3);
  std::vector<int> counts;
  double best = 0;
  for (const json& row : document.at("rows")) {
    counts.push_back(row.at("threads"));
    EXPECT_GE(row.at("of_best").get<double>(), 1.0);
    best = std::max(best, 1.0 / row.at("of_best").get<double>());
  }
  EXPECT_EQ(counts, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(best, 1.0);
  const CommandResult text = qw({"bench", "threads", "--data", "csbm:nodes=300,degree=6", "--model", "mlp",
                                 "--steps", "2", "--threads", "2"});
  EXPECT_NE(text.out.find(" of the best, the default\n"), std::string::npos) << text.out;
}

// LibTorch would abort, and OpenBLAS try for ever to get its buffers.
TEST(TrainCommand, TooFewAddressesAreRefusedAtOnce) {
  const CommandResult result = test::run_command(
      "/bin/sh",
      {"-c", std::string("ulimit -v 550000; exec timeout 60 ") + QW_PROGRAM + " train karate --quiet"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.err.starts_with("qw train: ulimit -v leaves 5")) << result.err;
  EXPECT_TRUE(result.err.ends_with(" of addresses, and LibTorch needs 600.0 MiB to start; raise it\n"))
      << result.err;
}

TEST(TrainCommand, SameBitsForOneAndTwoThreads) {
  const auto loss = [](const char* threads) {
    return json_of({"bench", "step", "--data", "csbm:nodes=3000,degree=20,features=50", "--model", "gcn",
                    "--solver", "bregman", "--steps", "5", "--threads", threads, "--json"})
        .at("loss");
  };
  EXPECT_EQ(loss("1"), loss("2"));
}

// Starts the program and kills it after some time; true when it had ended by itself.
bool run_and_kill(const Arguments& arguments, std::chrono::milliseconds after) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> argv{const_cast<char*>(QW_PROGRAM)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr)
      _exit(126);
    execv(QW_PROGRAM, argv.data());
    _exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + after;
  int status = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return false;
}

TEST(TrainCommand, KilledAgainAndAgainItEndsWithTheBitsOfTheUninterrupted) {
  const test::TemporaryFolder folder;
  const Arguments what{"train",      "--data",   kGraph,
                       "--solver",   "bregman",  "--edge-weights",
                       "--norm",     "batch",    "--runs",
                       "2",          "--epochs", "800",
                       "--patience", "0",        "--checkpoint-every",
                       "7",          "--quiet"};
  const std::string whole = folder.path() / "whole", killed = folder.path() / "killed";
  ASSERT_EQ(qw(with(what, {"--out", whole, "--threads", "1"})).exit_code, 0);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> milliseconds(100, 1500);
  const auto go_on = [&] {
    const bool started = std::filesystem::exists(killed + "/config.json");
    return started ? Arguments{"train", "--resume", killed, "--quiet"} : with(what, {"--out", killed});
  };
  bool done = false;
  for (int kills = 0; kills < 8 && !done; ++kills)
    done = run_and_kill(go_on(), std::chrono::milliseconds(milliseconds(random)));
  const CommandResult last = qw(go_on());
  ASSERT_EQ(last.exit_code, 0) << last.err;
  for (const char* run : {"run-0", "run-1"}) {
    for (const char* file : {"model.safetensors", "model.json", "flow.safetensors", "predictions.csv",
                             "metrics.jsonl", "summary.json"}) {
      EXPECT_EQ(read_file(killed + "/" + run + "/" + file), read_file(whole + "/" + run + "/" + file))
          << run << "/" << file;
    }
    EXPECT_FALSE(std::filesystem::exists(killed + "/" + run + "/checkpoint.safetensors"));
  }
}

}  // namespace
}  // namespace qw
