// `qw fit` as a person uses it.
#include "cli/front_door.h"
#include "cli/program.h"
#include "core/file.h"

namespace qw {
namespace {

using test::Arguments;
using test::expect_refused;
using test::json_of;
using test::qw;

class Fitting : public ::testing::Test {
 protected:
  Arguments fit(const Arguments& more) const {
    Arguments all{"fit",         "csbm:nodes=90,degree=6,features=6,classes=3,homophily=0.9",
                  "--seed",      "3",
                  "--quiet",     "--out",
                  out().string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::filesystem::path out() const { return folder_.path() / "out"; }

  test::TemporaryFolder folder_;
};

TEST_F(Fitting, AFolderPredictsMeasuresAndExplains) {
  const nlohmann::json fitted = json_of(fit({"--trials", "6", "--json"}));
  EXPECT_EQ(fitted.at("trials"), 6);
  EXPECT_EQ(fitted.at("candidates").size(), 6u);
  const nlohmann::json measured = json_of({"eval", out().string(), "--json"});
  EXPECT_EQ(measured.at("test").at("accuracy"), fitted.at("test").at("accuracy"));
  const nlohmann::json single = json_of({"eval", out().string(), "--single", "--json"});
  EXPECT_EQ(single.at("test").at("accuracy"), fitted.at("single_test").at("accuracy"));
  const nlohmann::json schema = nlohmann::json::parse(read_file(out() / "schema.json"));
  EXPECT_THAT(schema.at("command").get<std::string>(), ::testing::StartsWith("qw fit "));
  // predictions.csv is what `qw predict` says again.
  const test::CommandResult predicted = qw({"predict", out().string(), "--quiet"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_EQ(predicted.out, read_file(out() / "predictions.csv"));
  EXPECT_EQ(qw({"predict", out().string(), "--run", "0", "--quiet"}).exit_code, 0);
  EXPECT_EQ(qw({"explain", out().string(), "--node", "0", "--quiet"}).exit_code, 0);
  EXPECT_EQ(json_of(fit({"--trials", "6", "--json"})), fitted);  // at once
  expect_refused(
      fit({"--trials", "7"}), 1,
      fmt::format("qw: {} is finished already; choose another --out, or look at it with qw eval {}",
                  out().string(), out().string()));
  expect_refused(
      {"train", "--resume", out().string()}, 2,
      fmt::format("qw train: {} is a folder of qw fit, which goes on by its own command", out().string()));
  // Beside a training on the same split, node by node.
  const std::string other = (folder_.path() / "train").string();
  const std::string data = "csbm:nodes=90,degree=6,features=6,classes=3,homophily=0.9";
  const nlohmann::json trained =
      json_of({"train", data, "--seed", "3", "--epochs", "20", "--quiet", "--json", "--out", other});
  const nlohmann::json compared = json_of({"compare", other, out().string(), "--json"});
  EXPECT_EQ(compared.at("comparisons").at(0).at("pairs_are"), "nodes");
  EXPECT_NEAR(compared.at("comparisons").at(0).at("difference").get<double>(),
              fitted.at("test").at("accuracy").get<double>() -
                  trained.at("test").at("accuracy").at("mean").get<double>(),
              1e-9);
  expect_refused({"eval", out().string(), "--single", "--run", "0"}, 2,
                 "qw: --single is the best candidate alone: leave --ensemble and --run out");
}

TEST_F(Fitting, AnInterruptedFolderIsNotCompared) {
  std::filesystem::create_directories(out() / "search");
  expect_refused({"compare", out().string(), out().string()}, 1,
                 fmt::format("qw: {} is not finished; the same qw fit goes on", out().string()));
}

TEST_F(Fitting, WordsForAPerson) {
  const test::CommandResult said = qw(fit({"--trials", "4"}));
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, ::testing::HasSubstr("csbm: 4 trainings in "));
  EXPECT_THAT(said.out, ::testing::HasSubstr("label-propagation"));
  EXPECT_THAT(said.out, ::testing::HasSubstr("does the graph help? "));
  EXPECT_THAT(said.out,
              ::testing::HasSubstr("predictions for all nodes: " + out().string() + "/predictions.csv\n"));
}

TEST_F(Fitting, WhatCannotBeIsRefused) {
  expect_refused(fit({"--time", "soon"}), 2, "qw fit: --time 'soon' is no time; write 90s, 5m or 2h");
  expect_refused(fit({"--time", "-5s"}), 2, "qw fit: --time '-5s' is no time; write 90s, 5m or 2h");
  expect_refused({"fit", "karate"}, 2, "qw fit: --out DIR says where the result goes");
  for (const std::vector<std::string>& command :
       {fit({"--split", "stratified", "--split-file", "s.csv"}),
        {"data", "split", "karate", "--split", "kfold", "--split-file", "s.csv"}}) {
    const std::string name = command[0] == "fit" ? "qw fit" : "qw data split";
    expect_refused(command, 2,
                   name + ": --split-file says who trains: leave --split out, or give --split stored");
  }
  const std::string folder = out().string();
  ASSERT_EQ(qw({"train", "csbm:nodes=40", "--epochs", "2", "--quiet", "--out", folder}).exit_code, 0);
  expect_refused(
      fit({"--trials", "2"}), 1,
      fmt::format("qw: {} is a training's folder, which qw fit would overwrite; choose another --out",
                  folder));
  expect_refused({"predict", folder, "--single", "--quiet"}, 2,
                 fmt::format("qw: --single is for folders of qw fit; {} is none", folder));
}

}  // namespace
}  // namespace qw
