// Trainings over a partition, as a person starts them.
#include <gmock/gmock.h>

#include <fstream>

#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::CommandResult;
using testing::HasSubstr;

constexpr const char* kMessy =
    "name;age;height;team\n\"Ada; Countess\";36;1,70;red\nBob;41;1,82;blue\nCem;;1,65;red\nDot;29;1,59;\n"
    "\"Eve \"\"E\"\"\";33;1,75;blue\nFay;50;1,61;red\nGus;22;1,90;blue\nHal;64;;red\n";
constexpr const char* kLinks =
    "from,to\n\"Ada; Countess\",Bob\nBob,Cem\nCem,Dot\nDot,\"Eve \"\"E\"\"\"\n\"Eve "
    "\"\"E\"\"\",Fay\nFay,Gus\n"
    "Gus,Hal\nHal,\"Ada; Countess\"\nBob,Fay\n";

// Karate in three parts, and what trainings leave.
class TrainParts : public testing::Test {
 protected:
  TrainParts() {
    const CommandResult made =
        test::qw({"data", "partition", "karate", "--parts", "3", "--align", "1", "--out", parts_});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  CommandResult train(const std::string& out, const Arguments& more) const {
    Arguments words{"train",  parts_, "--epochs", "12",     "--split", "random:train=0.5,val=0.25",
                    "--seed", "4",    "--out",    path(out)};
    words.insert(words.end(), more.begin(), more.end());
    return test::qw(words);
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  void expect_same(const std::string& one, const std::string& other) const {
    for (const char* file :
         {"run-0/model.safetensors", "run-0/predictions.csv", "run-0/metrics.jsonl", "split.csv"})
      EXPECT_EQ(read_file(path(one) + "/" + file), read_file(path(other) + "/" + file)) << file;
  }

  test::TemporaryFolder folder_;
  std::string parts_ = (folder_.path() / "parts").string();
};

TEST_F(TrainParts, ProcessesOfAnyNumberLeaveTheSameFolder) {
  for (const char* processes : {"1", "2", "3"}) {
    const CommandResult result = train(processes, {"--solver", "proximal", "--processes", processes});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("karate, gcn, proximal: 1 run\n"));
    EXPECT_THAT(result.err,
                HasSubstr("no baselines are fitted part by part; --baselines all joins the parts\n"));
  }
  expect_same("1", "2");
  expect_same("1", "3");
  const CommandResult predicted = test::qw({"explain", path("2"), "--node", "33"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_EQ(test::qw({"eval", path("3")}).exit_code, 0);
}

TEST_F(TrainParts, WhatIsDoneIsShownAgain) {
  const CommandResult first = train("runs", {"--processes", "2", "--runs", "2"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const CommandResult again = test::qw({"train", "--resume", path("runs"), "--processes", "3"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
}

TEST_F(TrainParts, WhatNeedsTheJoinedGraphJoinsItInOneProcess) {
  const CommandResult one = train("joined", {"--model", "gcn-lpa", "--solver", "gcn-lpa"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("--model gcn-lpa: the parts of " + parts_ + " are joined\n"));
  for (const Arguments& needs : {Arguments{"--model", "gcn-lpa"}, Arguments{"--solver", "exact"},
                                 Arguments{"--baselines", "all"}, Arguments{"--preset", "auto"}}) {
    Arguments more = needs;
    more.insert(more.end(), {"--processes", "2"});
    const CommandResult refused = train("none", more);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.err,
              "qw train: " + needs[0] + " " + needs[1] + " needs the whole graph in one process\n");
  }
}

TEST_F(TrainParts, MistakesAreOneLine) {
  test::expect_refused(
      {"train", "karate", "--processes", "2"}, 2,
      "qw train: several processes train a partition of the data; make one with qw data partition");
  test::expect_refused({"train", parts_, "--processes", "4"}, 2,
                       "qw: " + parts_ + " has 3 parts, too few for 4 processes");
  EXPECT_EQ(train("runs", {}).exit_code, 0);
  const CommandResult other = train("runs", {"--lr", "0.5"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("was made by another request; choose another --out"));
}

TEST_F(TrainParts, AnEpochIsMeasuredAndPredicted) {
  const nlohmann::json json =
      test::json_of({"bench", "scale", parts_, "--processes", "2", "--model", "gcn", "--dropout", "0",
                     "--hidden", "8", "--solver", "ce", "--bandwidth", "1", "--latency", "2", "--json"});
  EXPECT_EQ(json["processes"], 2);
  EXPECT_GT(json["bytes"], 0);
  ASSERT_EQ(json["predicted"].size(), 1);  // for three parts two processes
  const auto& two = json["predicted"][0];
  EXPECT_EQ(two["processes"], 2);
  EXPECT_EQ(two["waiting_ms"], 2.0 * json["calls"].get<double>());
  EXPECT_NEAR(two["sending_ms"], two["bytes"].get<double>() * 8 / 1e6, 1e-9);
  test::expect_refused({"bench", "scale", parts_, "--model", "gcn-lpa"}, 2,
                       "qw bench scale: --model gcn-lpa needs the whole graph in one process");
  test::expect_refused({"bench", "scale", parts_, "--epochs", "2"}, 2,
                       "qw bench scale: --epochs must be more than the 2 that are not measured");
}

TEST_F(TrainParts, DataThatChangedIsNoticed) {
  EXPECT_EQ(train("runs", {}).exit_code, 0);
  fs::remove_all(parts_);
  EXPECT_EQ(test::qw({"data", "partition", "csbm:nodes=34,features=5", "--parts", "3", "--align", "1",
                      "--out", parts_})
                .exit_code,
            0);
  fs::remove(path("runs") + "/run-0/summary.json");
  const CommandResult again = test::qw({"train", "--resume", path("runs")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("cannot go on: the partition holds other data than it began with"));
}

TEST_F(TrainParts, AnotherPartitionOfTheDataIsNoticed) {
  EXPECT_EQ(train("runs", {"--runs", "2"}).exit_code, 0);
  fs::remove_all(parts_);
  EXPECT_EQ(
      test::qw({"data", "partition", "karate", "--parts", "2", "--align", "1", "--out", parts_}).exit_code,
      0);
  fs::remove(path("runs") + "/run-1/summary.json");
  const CommandResult again = test::qw({"train", "--resume", path("runs")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("cannot go on: it began with another partition of the data"));
}

TEST_F(TrainParts, ATableOfOnesOwnIsScaledAndNamed) {
  const fs::path nodes = folder_.write("n.csv", kMessy), edges = folder_.write("e.csv", kLinks);
  const CommandResult cut =
      test::qw({"data", "partition", "--edges", edges.string(), "--nodes", nodes.string(), "--id", "name",
                "--target", "team", "--decimal", ",", "--parts", "2", "--align", "1", "--out", path("own")});
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  const CommandResult trained = test::qw({"train", path("own"), "--processes", "2", "--epochs", "5",
                                          "--split", "random:train=0.5,val=0.25", "--out", path("runs")});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("features: "));
  EXPECT_THAT(read_file(path("runs") + "/run-0/predictions.csv"), HasSubstr("\"Eve \"\"E\"\"\","));
}

}  // namespace
}  // namespace qw
