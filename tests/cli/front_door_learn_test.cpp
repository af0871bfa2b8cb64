// Splits, metrics and certainty as a person meets them: small files, and what `qw train` makes of them.
#include "cli/front_door.h"

#include "core/text.h"

namespace qw {
namespace {

using nlohmann::json;
using test::Arguments;
using test::FrontDoorCase;
using test::json_of;
using test::qw;

// 40 people in a ring with chords; `team` is red for the first 30 and blue for the others, some are unknown.
std::string ring() {
  std::string text = "from,to\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("p{},p{}\np{},p{}\n", i, (i + 1) % 40, i, (i + 3) % 40);
  return text;
}

std::string people(const std::string& more_header = "", const std::function<std::string(int)>& more = {}) {
  std::string text = "id,age,pay,team" + more_header + "\n";
  for (int i = 0; i < 40; ++i) {
    const char* team = i % 10 == 9 ? "" : i < 30 ? "red" : "blue";
    text += fmt::format("p{},{},{},{}{}\n", i, 20 + (7 * i) % 31, 1000 + 10 * i, team, more ? more(i) : "");
  }
  return text;
}

std::string part_of(int i) { return i % 4 == 0 ? ",test" : i % 4 == 1 ? ",val" : ",train"; }

const std::string kTrain = "train --edges DIR/e.csv --nodes DIR/n.csv --id id --epochs 3 --json ";

std::vector<FrontDoorCase> cases() {
  const std::vector<std::pair<std::string, std::string>> plain{{"e.csv", ring()}, {"n.csv", people()}};
  const std::vector<std::pair<std::string, std::string>> masked{{"e.csv", ring()},
                                                                {"n.csv", people(",part", part_of)}};
  std::string parts = "id,first,second\n";
  for (int i = 0; i < 40; ++i) parts += fmt::format("p{}{}{}\n", i, part_of(i), part_of(i + 1));
  auto with_parts = plain;
  with_parts.emplace_back("s.csv", parts);
  auto bad_parts = plain;
  bad_parts.emplace_back("s.csv", "id,part\np0,train\np1,lunch\n");
  auto unknown_parts = plain;
  unknown_parts.emplace_back("s.csv", "id,part\np0,train\nzoe,test\n");
  auto twice = plain;
  twice.emplace_back("s.csv", "id,part\np0,train\np0,test\n");
  std::vector<FrontDoorCase> all{
      {"StratifiedByItself",
       plain,
       kTrain + "--target team",
       0,
       {},
       {},
       {{"/split/spec", "stratified"},
        {"/split/runs/0/classes/blue", {{"train", 5}, {"val", 2}, {"test", 2}}},
        {"/split/runs/0/classes/red", {{"train", 16}, {"val", 5}, {"test", 6}}}}},
      {"ValuesAreStratifiedToo",
       plain,
       kTrain + "--target pay --drop team",
       0,
       {},
       {},
       {{"/split/spec", "stratified"}, {"/split/runs/0/train", 24}, {"/metric", "r2"}}},
      {"TheSplitColumnIsTaken",
       masked,
       kTrain + "--target team --split-column part",
       0,
       {},
       {},
       {{"/split/spec", "stored"}, {"/split/runs/0/test", 10}}},
      {"OneStoredSplitForAllRuns",
       masked,
       kTrain + "--target team --split-column part --runs 2",
       0,
       {"all runs have the one stored split; --split stratified draws one for each"},
       {},
       {}},
      {"ASplitFileHasAColumnForEachRun",
       with_parts,
       kTrain + "--target team --split-file DIR/s.csv --runs 2",
       0,
       {"8 nodes of --split-file have no label"},
       {},
       {{"/split/spec", "stored"}, {"/split/runs/0/test", 10}, {"/split/runs/1/test", 8}}},
      {"ASplitFileAndASplit",
       with_parts,
       kTrain + "--target team --split-file DIR/s.csv --split kfold",
       2,
       {"--split-file says who trains: leave --split out, or give --split stored"},
       {},
       {}},
      {"ASplitFileAndAColumn",
       with_parts,
       kTrain + "--target team --split-file DIR/s.csv --split-column team",
       2,
       {"--split-column and --split-file both say who trains: give one of them"},
       {},
       {}},
      {"ASplitFileWithAWrongPart",
       bad_parts,
       kTrain + "--target team --split-file DIR/s.csv",
       1,
       {"s.csv:3: split 'lunch' is none of train, val, test or empty"},
       {},
       {}},
      {"ASplitFileWithAnUnknownNode",
       unknown_parts,
       kTrain + "--target team --split-file DIR/s.csv",
       1,
       {"s.csv:3: node id 'zoe' is not in the graph"},
       {},
       {}},
      {"ASplitFileWithANodeTwice",
       twice,
       kTrain + "--target team --split-file DIR/s.csv",
       1,
       {"s.csv:3: node id 'p0' stands already in line 2"},
       {},
       {}},
      {"ASplitColumnAndASplit",
       masked,
       kTrain + "--target team --split-column part --split stratified",
       2,
       {"--split-column says who trains: leave --split out, or give --split stored"},
       {},
       {}},
      {"RunsTakeTurns",
       with_parts,
       kTrain + "--target team --split-file DIR/s.csv --runs 3",
       0,
       {"3 runs take turns at 2 stored splits; --split stratified draws one for each"},
       {},
       {}},
      {"WeightsThatNobodySees",
       {{"e.csv", "a,b,w\np0,p1,2\n"}, {"n.csv", people()}},
       kTrain + "--target team --edge-weight w --model mlp --solver ce",
       2,
       {"--edge-weight has no use with --model mlp, which does not see the edges"},
       {},
       {}},
      {"CostsThatNobodyPays",
       {{"e.csv", "a,b,w\np0,p1,2\n"}, {"n.csv", people()}},
       kTrain + "--target team --edge-cost w --solver ce",
       2,
       {"--edge-cost has no use with --solver ce, which moves nothing along edges"},
       {},
       {}},
      {"AnOptionOfOtherNetworks",
       plain,
       kTrain + "--target team --model gcn --heads 4",
       2,
       {"qw train: --heads has no use with --model gcn; it is for gat"},
       {},
       {}},
      {"AnOptionOfSeveralOtherNetworks",
       plain,
       kTrain + "--target team --model graphsage --k 4",
       2,
       {"qw train: --k has no use with --model graphsage; it is for appnp, bernnet, chebnetii"},
       {},
       {}},
      {"AnOptionOfOtherSolvers",
       plain,
       kTrain + "--target team --solver ce --lambda 10",
       2,
       {"qw train: --lambda has no use with --solver ce; it is for badmm, bregman, exact, proximal"},
       {},
       {}},
      {"DirectedFilters",
       plain,
       kTrain + "--target team --directed --model chebnetii",
       0,
       {"nodes without any send nothing; --model gcn or graphsage hear them"},
       {},
       {}},
      {"FoldsAreRuns",
       plain,
       kTrain + "--target team --split kfold:k=3 --runs 3",
       0,
       {},
       {},
       {{"/split/spec", "kfold:k=3"}, {"/split/runs/0/test", 12}, {"/split/runs/2/test", 12}}},
      {"OneFoldOfSeveral",
       plain,
       kTrain + "--target team --split kfold:k=3",
       0,
       {"kfold:k=3,fold=0: one fold of those that --runs would go through"},
       {},
       {}},
      {"MoreRunsThanFolds",
       plain,
       kTrain + "--target team --split kfold:k=3 --runs 4",
       2,
       {"kfold:k=3 has the folds 0 to 2, so there is no run 3: give --runs 3 at most, or a larger k"},
       {},
       {}},
      {"AMissingClassIsSaid",
       masked,
       kTrain + "--target team --split per-class:train=9,val=2,test=2 --seed 1",
       0,
       {"warning: class 'blue' is missing from val", "--split decides"},
       {},
       {}},
      {"TheMetricThatCounts",
       plain,
       kTrain + "--target team --metric roc_auc --select metric",
       0,
       {},
       {},
       {{"/metric", "roc_auc"}}},
      {"AMetricOfAnotherTask",
       plain,
       kTrain + "--target team --metric rmse",
       2,
       {"--metric 'rmse' is unknown", "balanced_accuracy", "the task is classification"},
       {},
       {}},
      {"AnUnknownMetric",
       plain,
       kTrain + "--target team --metric acuracy",
       2,
       {"did you mean 'accuracy'?"},
       {},
       {}},
      {"OneClassOnly",
       plain,
       kTrain + "--target team --drop age,pay --missing-features constant --solver ce",
       0,
       {"predict one class only for all test nodes"},
       {},
       {}},
      {"NoBetterThanTheMean",
       plain,
       kTrain + "--target pay --drop team --lr 0",
       0,
       {"is no better than the mean of the training nodes", "is no better than a linear model"},
       {},
       {}},
      {"ColumnsAreStandardised",
       plain,
       kTrain + "--target team",
       0,
       {"features: 2 of 2 columns are brought to mean 0 and deviation 1 (--scale-features)"},
       {},
       {}},
      {"CoverageOutOfRange", plain, kTrain + "--target team --coverage 1", 2, {"--coverage '1'"}, {}, {}},
  };
  return all;
}

class FrontDoorLearn : public testing::TestWithParam<FrontDoorCase> {};

TEST_P(FrontDoorLearn, SaysAndDoesWhatItShould) { test::expect_front_door(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cases, FrontDoorLearn, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

// A training of several runs, to be predicted with.
class Certainty : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("e.csv", ring());
    folder_.write("n.csv", people(",part", part_of));
    out_ = (folder_.path() / "out").string();
  }

  void train(const Arguments& more) {
    Arguments arguments{"train",
                        "--edges",
                        (folder_.path() / "e.csv").string(),
                        "--nodes",
                        (folder_.path() / "n.csv").string(),
                        "--id",
                        "id",
                        "--target",
                        "team",
                        "--epochs",
                        "5",
                        "--out",
                        out_,
                        "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const test::CommandResult result = qw(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  test::TemporaryFolder folder_;
  std::string out_;
};

TEST_F(Certainty, PredictHasTheRowsOfTheFile) {
  train({"--split-column", "part"});
  const test::CommandResult csv = qw({"predict", out_, "--quiet"});
  EXPECT_EQ(csv.out, read_file(out_ + "/run-0/predictions.csv"));
  const json document = json_of({"predict", out_, "--json", "--quiet"});
  ASSERT_EQ(document.at("predictions").size(), 40U);
  const std::vector<std::string> lines = split(csv.out, '\n'), header = split(lines.front(), ',');
  EXPECT_EQ(lines.front(),
            "id,prediction,confidence,set,probability blue,probability red,label,part,network blue,network "
            "red,transport blue,transport red");
  for (size_t row = 0; row < 40; ++row) {
    const json& given = document.at("predictions")[row];
    ASSERT_EQ(given.size(), header.size());
    EXPECT_EQ(given.at("id"), fmt::format("p{}", row));
    const int i = static_cast<int>(row);
    EXPECT_EQ(given.at("part"), i % 10 == 9 ? "" : part_of(i).substr(1));
    EXPECT_EQ(given.at("label"), i % 10 == 9 ? json(nullptr) : json(i < 30 ? "red" : "blue"));
    const double blue = given.at("probability blue"), red = given.at("probability red");
    EXPECT_NEAR(blue + red, 1, 1e-9);
    EXPECT_EQ(given.at("prediction"), blue > red ? "blue" : "red");
    EXPECT_EQ(given.at("confidence"), std::max(blue, red));
  }
}

TEST_F(Certainty, AnEnsembleIsTheMeanOfItsRuns) {
  train({"--split-column", "part", "--runs", "3"});
  const json all = json_of({"predict", out_, "--ensemble", "--json", "--quiet"});
  std::vector<json> runs;
  for (const char* run : {"0", "1", "2"})
    runs.push_back(json_of({"predict", out_, "--run", run, "--json", "--quiet"}));
  for (size_t row = 0; row < 40; ++row) {
    double mean = 0, squares = 0;
    for (const json& run : runs) {
      const double value = run.at("predictions")[row].at("probability red");
      mean += value / 3;
      squares += value * value / 3;
    }
    const json& given = all.at("predictions")[row];
    EXPECT_NEAR(given.at("probability red").get<double>(), mean, 1e-9);
    EXPECT_NEAR(given.at("spread").get<double>(), std::sqrt(std::max(0.0, squares - mean * mean)), 1e-6);
    EXPECT_TRUE(given.contains("set"));
  }
  const json eval = json_of({"eval", out_, "--ensemble", "--json", "--quiet"});
  EXPECT_EQ(eval.at("nodes").at("test"), 10);
  double right = 0;
  for (const json& row : all.at("predictions")) {
    right += row.at("part") == "test" && row.at("label") == row.at("prediction");
  }
  EXPECT_DOUBLE_EQ(eval.at("test").at("accuracy").get<double>(), right / 10);
}

TEST_F(Certainty, SplitsOfTheirOwnLeaveNoNodeToCalibrateAnEnsemble) {
  train({"--runs", "5", "--split", "stratified"});
  const test::CommandResult result = qw({"predict", out_, "--ensemble", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err,
              testing::HasSubstr("sets are left out: no node validates in every run; train with one "
                                 "split for all (--split-file)"));
}

TEST_F(Certainty, SaysWhatDoesNotGo) {
  train({});
  test::expect_refused({"predict", out_, "--ensemble", "--quiet"}, 2,
                       "qw: " + out_ + " has one run, and an ensemble needs several: train with --runs 10");
  test::expect_refused({"predict", out_, "--run", "3", "--quiet"}, 2,
                       "qw: " + out_ + " has one run, run 0, so there is no run 3");
}

TEST_F(Certainty, CoverageIsChosenAgainWithoutTraining) {
  train({"--split-column", "part", "--coverage", "0.6"});
  const auto mean_size = [&](const Arguments& more) {
    Arguments arguments{"predict", out_, "--json", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    double size = 0;
    const json document = json_of(arguments);
    for (const json& row : document.at("predictions")) {
      const std::string set = row.at("set");
      size += set.empty() ? 0.0 : 1.0 + static_cast<double>(std::count(set.begin(), set.end(), '|'));
    }
    return size / 40;
  };
  EXPECT_LE(mean_size({}), mean_size({"--coverage", "0.85"}));
  const test::CommandResult everything = qw({"predict", out_, "--coverage", "0.99", "--json"});
  EXPECT_THAT(everything.err, testing::HasSubstr("too few for --coverage 0.99: sets hold everything"));
  EXPECT_EQ(mean_size({"--coverage", "0.99"}), 2);
}

}  // namespace
}  // namespace qw
